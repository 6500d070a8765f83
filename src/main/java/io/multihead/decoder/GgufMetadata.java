package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.text.TokenizerMetadata;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** What a GGUF file says of its tokenizer. */
record GgufMetadata(Gguf file) implements TokenizerMetadata {
    @Override
    public boolean has(String key) {
        return file.find(key).isPresent();
    }

    @Override
    public Optional<String> findString(String key) {
        return file.findString(key);
    }

    @Override
    public OptionalLong findInteger(String key) {
        return file.findInteger(key);
    }

    @Override
    public Optional<Boolean> findBool(String key) {
        return file.findBool(key);
    }

    @Override
    public List<String> strings(String key) {
        return file.strings(key);
    }

    @Override
    public long[] integers(String key) {
        return file.integers(key);
    }

    @Override
    public float[] floats(String key) {
        return file.floats(key);
    }
}
