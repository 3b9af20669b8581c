//! In no interleaving of two threads does one sleep for ever, and nothing is counted twice or not at all.
//!
//! The sender does as a stage worker does: it sleeps in its queue when the link is full, and looks again at whatever wakes it. The receiver
//! does as a stage behind it or a caller does. A thread that is never woken is a deadlock, which the checker reports.

use loom::sync::Arc;
use loom::sync::mpsc::{Receiver, Sender, channel};
use loom::thread;
use omni_loom::flow::{Fate, Link, Room};

const ROOM: Room = Room { chunks: 1, units: 0 };

/// Explores interleavings with so many forced switches; more only find what fewer did and take hours.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

struct Worker {
    link: Arc<Link>,
    fate: Arc<Fate>,
    chunks: Sender<usize>,
    wake: Receiver<()>,
}

impl Worker {
    /// Sends chunks of two units until all are sent or nobody wants them. How many it sent, and its queue: a worker that found room when
    /// it looked again has left its mark, and is woken although it may have done all it had to do since.
    fn work(self, count: usize) -> (usize, Receiver<()>) {
        (self.send_up_to(count), self.wake)
    }

    fn send_up_to(&self, count: usize) -> usize {
        for number in 0..count {
            while !self.fate.is_ended() && !self.link.has_room(ROOM) {
                self.wake.recv().expect("the receiver outlives the worker");
            }
            if self.fate.is_ended() {
                return number;
            }
            self.link.put(2);
            self.chunks.send(number).expect("the receiver outlives the worker");
        }
        count
    }
}

struct Caller {
    link: Arc<Link>,
    fate: Arc<Fate>,
    chunks: Receiver<usize>,
    wake: Sender<()>,
}

impl Caller {
    fn take(&self, expected: usize) {
        assert_eq!(self.chunks.recv(), Ok(expected), "chunks come once and in order");
        if self.link.take(1, 2) {
            self.wake.send(()).expect("the worker's queue lives");
        }
    }

    fn leave(&self) {
        self.fate.end();
        self.wake.send(()).expect("the worker's queue lives");
    }
}

fn pair() -> (Worker, Caller) {
    let (link, fate) = (Arc::new(Link::default()), Arc::new(Fate::default()));
    let ((chunks, chunks_end), (wake, wake_end)) = (channel(), channel());
    let worker = Worker { link: Arc::clone(&link), fate: Arc::clone(&fate), chunks, wake: wake_end };
    (worker, Caller { link, fate, chunks: chunks_end, wake })
}

/// What a worker sent. Wakes that nobody needed are taken out of its queue.
fn joined(thread: thread::JoinHandle<(usize, Receiver<()>)>) -> usize {
    let (sent, wake) = thread.join().expect("the worker does not panic");
    while wake.try_recv().is_ok() {}
    sent
}

#[test]
fn a_worker_that_sleeps_before_a_full_link_is_woken() {
    check(|| {
        let (worker, caller) = pair();
        let thread = thread::spawn(move || worker.work(3));
        (0..3).for_each(|number| caller.take(number));
        assert_eq!(joined(thread), 3);
        assert!(caller.link.has_room(ROOM), "all credits are back");
    });
}

#[test]
fn a_worker_whose_caller_leaves_ends_whatever_it_was_doing() {
    check(|| {
        let (worker, caller) = pair();
        let thread = thread::spawn(move || worker.work(3));
        caller.take(0);
        caller.leave();
        let sent = joined(thread);
        assert!((1..=2).contains(&sent), "{sent} chunks were sent although one was taken and the link holds one");
    });
}

#[test]
fn of_several_who_end_a_sequence_one_is_the_first() {
    check(|| {
        let fate = Arc::new(Fate::default());
        let enders: Vec<_> = (0..2)
            .map(|_| {
                let fate = Arc::clone(&fate);
                thread::spawn(move || fate.end())
            })
            .collect();
        let firsts = enders.into_iter().map(|ender| ender.join().expect("it does not panic")).filter(|first| *first).count();
        assert_eq!((firsts, fate.is_ended()), (1, true));
    });
}
