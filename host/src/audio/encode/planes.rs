//! Interleaved samples as one run a channel, for codecs that want them so.

/// The samples of each channel; the second run stays empty in mono.
#[derive(Default)]
pub struct Planes {
    runs: [Vec<f32>; 2],
    channels: usize,
}

impl Planes {
    /// Empty runs for one or two channels.
    pub fn new(channels: u16) -> Self {
        Self { channels: usize::from(channels), ..Self::default() }
    }

    /// Appends whole frames.
    pub fn extend(&mut self, samples: &[f32]) {
        for (channel, run) in self.runs.iter_mut().take(self.channels).enumerate() {
            run.extend(samples.iter().skip(channel).step_by(self.channels));
        }
    }

    /// Appends silence up to `len` samples a channel.
    pub fn pad(&mut self, len: usize) {
        for run in self.runs.iter_mut().take(self.channels) {
            run.resize(len.max(run.len()), 0.0);
        }
    }

    /// Samples a channel.
    pub fn len(&self) -> usize {
        self.runs[0].len()
    }

    /// A part of each channel; the second is empty in mono.
    pub fn part(&self, range: std::ops::Range<usize>) -> [&[f32]; 2] {
        self.runs.each_ref().map(|run| run.get(range.clone()).unwrap_or_default())
    }

    /// Drops samples at the front of each channel.
    pub fn drop_front(&mut self, len: usize) {
        for run in &mut self.runs {
            run.drain(..len.min(run.len()));
        }
    }
}
