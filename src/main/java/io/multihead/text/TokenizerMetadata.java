package io.multihead.text;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The metadata of a GGUF file, as far as a tokenizer needs them: by key, such as {@code tokenizer.ggml.tokens}. */
public interface TokenizerMetadata {
    /**
     * Returns whether a key exists.
     *
     * @param key its name
     * @return whether it does
     */
    boolean has(String key);

    /**
     * Returns a string.
     *
     * @param key its name
     * @return the string, or empty where there is no such key
     * @throws IllegalArgumentException if the value is no string
     */
    Optional<String> findString(String key);

    /**
     * Returns an integer of any width.
     *
     * @param key its name
     * @return the integer, or empty where there is no such key
     * @throws IllegalArgumentException if the value is no integer
     */
    OptionalLong findInteger(String key);

    /**
     * Returns a truth value.
     *
     * @param key its name
     * @return the value, or empty where there is no such key
     * @throws IllegalArgumentException if the value is another one
     */
    Optional<Boolean> findBool(String key);

    /**
     * Returns an array of strings.
     *
     * @param key its name
     * @return the strings
     * @throws IllegalArgumentException if there is no such array
     */
    List<String> strings(String key);

    /**
     * Returns an array of integers.
     *
     * @param key its name
     * @return the integers
     * @throws IllegalArgumentException if there is no such array
     */
    long[] integers(String key);

    /**
     * Returns an array of 32-bit numbers.
     *
     * @param key its name
     * @return the numbers
     * @throws IllegalArgumentException if there is no such array
     */
    float[] floats(String key);
}
