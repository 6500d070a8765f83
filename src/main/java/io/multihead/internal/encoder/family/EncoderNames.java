package io.multihead.internal.encoder.family;

import java.util.List;
import java.util.Set;

/**
 * The weights of a checkpoint that belong to an encoder.
 *
 * @param words the word embedding table, which every encoder has: the prefix of this name is the prefix of all names of the encoder
 * @param prefixes the possible prefixes
 * @param parts prefixes of names of parts of the encoder; a weight with such a name and no prefix belongs to no other part
 * @param head prefixes of the head that classifies sequences, with or without the prefix of the encoder; empty if the head is not used
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
