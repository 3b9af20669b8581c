//! Qwen3-TTS.
