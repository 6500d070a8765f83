package io.multihead.text;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The tokenizer settings of a GGUF file, by the ends of the keys' names.
 *
 * @param file the file, whose keys begin with {@value #PREFIX}
 */
record GgufKeys(Gguf file) {
    static final String PREFIX = "tokenizer.ggml.";

    boolean has(String name) {
        return file.find(PREFIX + name).isPresent();
    }

    String text(String name) {
        return file.string(PREFIX + name);
    }

    boolean flag(String name, boolean otherwise) {
        return file.findBool(PREFIX + name).orElse(otherwise);
    }

    List<String> texts(String name) {
        return file.strings(PREFIX + name);
    }

    /** Returns one number for each of {@code tokens} tokens. */
    float[] scores(int tokens) {
        float[] scores = file.floats(PREFIX + "scores");
        Checks.length(scores.length, tokens, PREFIX + "scores", "one per token");
        return scores;
    }

    /** Returns the bytes of an array of integers, which is empty if there is none. */
    byte[] bytes(String name) {
        if (!has(name)) {
            return new byte[0];
        }
        long[] values = file.integers(PREFIX + name);
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) values[i];
            if (values[i] != bytes[i] && values[i] != Byte.toUnsignedInt(bytes[i])) {
                throw fail(name, "bytes");
            }
        }
        return bytes;
    }

    /** Returns the types of the tokens; empty if the file has none. */
    List<TokenType> types(int tokens) {
        List<TokenType> types = new ArrayList<>(tokens);
        String name = "token_type";
        int most = TokenType.values().length;
        if (has(name)) {
            for (long number : file.integers(PREFIX + name)) {
                if (number < 1 || number > most) {
                    throw Checks.fail(
                            PREFIX + name + "[" + types.size() + "]", Long.toString(number), "expected 1 to " + most);
                }
                types.add(TokenType.of((int) number));
            }
            Checks.length(types.size(), tokens, PREFIX + name, "one per token");
        }
        return types;
    }

    /** Returns the id of a key, or a default, in a vocabulary of {@code size} tokens. */
    int id(String name, int otherwise, int size) {
        String key = PREFIX + name + "_token_id";
        OptionalLong id = file.findInteger(key);
        return (int)
                (id.isEmpty() && otherwise == SpecialIds.NONE
                        ? otherwise
                        : Checks.index(id.orElse(otherwise), size, key));
    }

    IllegalArgumentException fail(String name, String expected) {
        return file.fail(PREFIX + name, expected);
    }
}
