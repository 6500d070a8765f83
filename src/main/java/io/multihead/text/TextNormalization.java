package io.multihead.text;

import io.multihead.internal.text.unicode.BertSteps;

/**
 * Normalization of text before it is split into words, with the steps of HuggingFace's {@code BertNormalizer}, in this
 * order.
 *
 * @param cleanText whether control characters are removed and every kind of white space becomes a space
 * @param separateChinese whether each CJK ideograph is a separate word
 * @param stripAccents whether text is decomposed (NFD) and loses its non-spacing marks
 * @param lowercase whether letters become lower case, code point by code point
 */
public record TextNormalization(boolean cleanText, boolean separateChinese, boolean stripAccents, boolean lowercase) {
    /** All steps, for uncased BERT models. */
    public static final TextNormalization UNCASED = new TextNormalization(true, true, true, true);

    /** Cleaning and separate ideographs, but unchanged accents and case, for cased BERT models. */
    public static final TextNormalization CASED = new TextNormalization(true, true, false, false);

    /** Returns these steps in the form that character tables use. */
    BertSteps steps() {
        return new BertSteps(cleanText, separateChinese, stripAccents, lowercase);
    }
}
