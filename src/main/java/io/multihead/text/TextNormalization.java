package io.multihead.text;

/**
 * What happens to text before it is split into words, as HuggingFace's {@code BertNormalizer} does it, in this order.
 *
 * @param cleanText whether control characters are removed and every kind of white space counts as a space
 * @param separateChinese whether each CJK ideograph is a word of its own
 * @param stripAccents whether text is decomposed (NFD) and loses its non-spacing marks
 * @param lowercase whether letters become lower case, code point by code point
 */
public record TextNormalization(boolean cleanText, boolean separateChinese, boolean stripAccents, boolean lowercase) {
    /** What uncased BERT models do: everything. */
    public static final TextNormalization UNCASED = new TextNormalization(true, true, true, true);

    /** What cased BERT models do: cleaning and ideographs, but neither accents nor case. */
    public static final TextNormalization CASED = new TextNormalization(true, true, false, false);
}
