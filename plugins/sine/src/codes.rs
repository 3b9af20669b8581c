//! The code frames between talker and codec: 12.5 a second, two codes each.

/// Output rate.
pub const SAMPLE_RATE_HZ: u32 = 24_000;
/// Code frames a second.
pub const FRAME_RATE_HZ: f32 = 12.5;
/// Samples that one code frame becomes.
pub const FRAME_LEN: usize = 1920;
/// Codes a frame: pitch and loudness.
pub const CODEBOOKS: usize = 2;

/// Steps of the pitch code in a semitone.
const STEPS: f32 = 16.0;
/// Largest loudness code.
const LOUDEST: f32 = 255.0;

/// One code frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Sixteenths of a semitone, counted as MIDI counts notes: 69 * 16 is 440 Hz.
    pub pitch: i32,
    /// 0 (silent) to 255.
    pub loudness: i32,
}

impl Frame {
    /// The frame nearest to a frequency and an amplitude of 0 to 1.
    pub fn new(frequency_hz: f32, amplitude: f32) -> Self {
        let note = 69.0 + 12.0 * (frequency_hz / 440.0).log2();
        Self { pitch: (note * STEPS).round() as i32, loudness: (amplitude.clamp(0.0, 1.0) * LOUDEST).round() as i32 }
    }

    /// The frequency that the pitch code stands for.
    pub fn frequency_hz(self) -> f32 {
        Self::frequency_of(self.note())
    }

    /// The note that the pitch code stands for, as MIDI counts.
    pub fn note(self) -> f32 {
        self.pitch as f32 / STEPS
    }

    /// The frequency of a note.
    pub fn frequency_of(note: f32) -> f32 {
        440.0 * ((note - 69.0) / 12.0).exp2()
    }

    /// Semitones of so many steps of the pitch code.
    pub fn semitones(steps: i32) -> f32 {
        steps as f32 / STEPS
    }

    /// The amplitude that the loudness code stands for, 0 to 1.
    pub fn amplitude(self) -> f32 {
        (self.loudness as f32 / LOUDEST).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn a_frame_keeps_its_frequency_and_amplitude() {
        for frequency_hz in [20.0, 110.0, 440.0, 4000.0] {
            let frame = Frame::new(frequency_hz, 0.5);
            assert!((frame.frequency_hz() / frequency_hz - 1.0).abs() < 0.002, "{frequency_hz}: {}", frame.frequency_hz());
            assert!((frame.amplitude() - 0.5).abs() < 0.003);
        }
        assert_eq!(Frame::new(440.0, 1.0), Frame { pitch: 69 * 16, loudness: 255 });
    }
}
