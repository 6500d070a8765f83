package io.multihead.internal.encoder.family;

import java.util.List;
import java.util.Set;

/**
 * Which weights of a checkpoint are an encoder's.
 *
 * @param words the table of words, which every encoder has: what stands before this name stands before all of the encoder's names
 * @param prefixes what that may be
 * @param parts what names of parts of the encoder begin with; a weight with such a name and no prefix belongs to no other part
 * @param head what names of the head that classifies sequences begin with, with or without the prefix; empty where it is not used
 * @param others what names of heads that are not used begin with
 * @param ignored parts of the encoder that are not used
 */
public record EncoderNames(
        String words,
        List<String> prefixes,
        List<String> parts,
        List<String> head,
        List<String> others,
        Set<String> ignored) {}
