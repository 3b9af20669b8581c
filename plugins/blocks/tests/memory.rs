//! Streams that go on take no more memory than streams that began.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use burn::tensor::Device;
use common::{Random, Stored, folder, values};
use omni_blocks::codecs::qwen12hz::{Config, Decoder};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn memory_does_not_grow_with_time() {
    let config = std::fs::read(folder("qwen12hz").join("config.json")).expect("a file");
    let config = Config::from_json(&config).expect("a configuration").decoder_config;
    let weights = Stored::open(&folder("qwen12hz"), "model");
    let decoder = weights.read(&Device::flex(), |reader| Decoder::load(reader, &config)).expect("the golden weights load");
    let (mut slots, mut random) = (decoder.slots(3), Random(1));
    let mut run = |rounds: usize| {
        for _ in 0..rounds {
            for which in [&[0][..], &[2, 0], &[0, 1, 2]] {
                let codes = random.codes(which.len() * 2 * config.num_quantizers, config.codebook_size);
                assert!(values(decoder.step(&mut slots, which, &codes).expect("valid codes")).iter().all(|sample| sample.abs() <= 1.0));
            }
        }
        LIVE.load(Ordering::Relaxed)
    };
    let (begun, later) = (run(10), run(40));
    // A state is some 30 kB here; what threads and caches keep is less.
    assert!(later - begun < 4096, "{begun} bytes after 10 rounds, {later} after 50");
}
