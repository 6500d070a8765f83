package io.multihead.text;

import io.multihead.format.Gguf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The metadata of a GGUF file as tokenizers read them. */
record GgufMetadata(Gguf file) implements TokenizerMetadata {
    static GgufMetadata read(Path file) {
        try {
            return new GgufMetadata(Gguf.map(file, Arena.ofAuto()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public boolean has(String key) {
        return file.keys().contains(key);
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
