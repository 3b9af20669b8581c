"""What is spoken in the golden files."""

TEXTS = [
    "Hello, world!", "The birch canoe slid on the smooth planks.", "It's 9:30, isn't it? I'll PAY $12.50 (or €11).",
    "iPhone's e-mail: foo.bar@example.com/path?x=1", "  two  spaces\tand\ttabs \n\n new line \r\n end ", "naïve café, Zürich, Łódź",
    "cafe\u0301 decomposed", "你好，世界！今天天气怎么样？", "我叫通义千问，是阿里云的开源大模型。", "其实我真的有发现，我是一个特别善于观察别人情绪的人。",
    "日本語のテキストと ひらがな、カタカナ。", "안녕하세요, 반갑습니다.", "Привет, как дела?", "Guten Tag, wie geht's?", "¿Qué tal? ¡Muy bien!",
    "À bientôt, l'été prochain", "مرحبا بالعالم", "नमस्ते दुनिया", "ไทย ภาษา", "emoji 😀👍🏽 and 👨‍👩‍👧 family", "123 4567 １２３ ½ ²", "a.\n/b", "...!!!???", "x",
    "<|im_start|>assistant\nHi.<|im_end|>\n<|im_start|>assistant\n", "<|im_start|>user\nSpeak softly.<|im_end|>\n",
    "plain <tts_pad> inside", "CAN'T WE'VE they'Ll", "\u200bzero\u00a0width", "don’t “quote” — dash…",
]

ENGLISH = "Hello there, how are you today?"
CHINESE = "其实我真的有发现。"
SHORT = "Hi there."
REFERENCE = "The birch canoe slid on the smooth planks, and nobody at the lake saw where it went."
INSTRUCT = "Speak very happily."
CHINESE_INSTRUCT = "用特别愤怒的语气说"
DESIGN = "A calm old man with a deep voice."


def case(name, text, language, **rest):
    return {"name": name, "text": text, "language": language, "speaker": None, "instruct": None, "ref_text": None,
            "x_vector_only": False, "non_streaming": True, "max_new_tokens": 13, **rest}


CASES = {
    "custom_voice": [
        case("auto", ENGLISH, "auto", speaker="vivian"),
        case("english_streaming", ENGLISH, "english", speaker="ryan", non_streaming=False, max_new_tokens=21, trace=True, pcm=True),
        case("instruct", CHINESE, "chinese", speaker="serena", instruct=CHINESE_INSTRUCT),
        case("instruct_streaming", ENGLISH, "german", speaker="uncle_fu", instruct=INSTRUCT, non_streaming=False),
        case("dialect_auto", CHINESE, "auto", speaker="eric"),
        case("dialect_chinese", CHINESE, "chinese", speaker="dylan"),
        case("dialect_english", ENGLISH, "english", speaker="dylan"),
        case("one_token", "x", "auto", speaker="vivian", non_streaming=False),
        case("sampled", ENGLISH, "english", speaker="aiden", max_new_tokens=11, sampled=True),
    ],
    "voice_design": [
        case("design", ENGLISH, "english", instruct=DESIGN),
        case("design_auto", CHINESE, "auto", instruct=CHINESE_INSTRUCT),
        case("design_streaming", ENGLISH, "english", instruct=DESIGN, non_streaming=False),
    ],
    "base": [
        case("x_vector", ENGLISH, "english", x_vector_only=True, non_streaming=False),
        case("x_vector_whole", ENGLISH, "auto", x_vector_only=True),
        case("icl_long_text", ENGLISH, "english", ref_text=REFERENCE, non_streaming=False, max_new_tokens=21, trace=True, pcm=True),
        case("icl_short_text", "x", "auto", ref_text="Hi", non_streaming=False),
        case("icl_whole", SHORT, "english", ref_text=REFERENCE),
        case("sampled", ENGLISH, "english", x_vector_only=True, non_streaming=False, max_new_tokens=11, sampled=True),
    ],
}

# Every text that a tiny checkpoint reads whole words of; other texts fall back to single bytes.
SPOKEN = [ENGLISH, CHINESE, SHORT, REFERENCE, INSTRUCT, CHINESE_INSTRUCT, DESIGN, "<|im_start|>assistant\n", "<|im_start|>user\n"]
