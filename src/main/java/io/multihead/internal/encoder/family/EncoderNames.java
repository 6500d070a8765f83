package io.multihead.internal.encoder.family;

import java.util.List;
import java.util.Set;

/**
 * Which weights of a checkpoint are an encoder's.
 *
 * @param words the table of words, which every encoder has: the prefix of this name is the prefix of all of the encoder's names
 * @param prefixes the possible prefixes
 * @param parts prefixes of names of parts of the encoder; a weight with such a name and no prefix belongs to no other part
 * @param head prefixes of the head that classifies sequences, with or without the prefix; empty where it is not used
 * @param others prefixes of heads that are not used
 * @param ignored parts of the encoder that are not used
 */
public record EncoderNames(
        String words,
        List<String> prefixes,
        List<String> parts,
        List<String> head,
        List<String> others,
        Set<String> ignored) {}
