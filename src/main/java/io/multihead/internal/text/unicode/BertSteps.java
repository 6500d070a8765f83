package io.multihead.internal.text.unicode;

/**
 * The steps of BERT's normalizer, in this order.
 *
 * @param cleanText whether control characters are removed and every kind of white space becomes a space
 * @param separateChinese whether each CJK ideograph is a separate word
 * @param stripAccents whether text is decomposed (NFD) and loses its non-spacing marks
 * @param lowercase whether letters become lower case, code point by code point
 */
public record BertSteps(boolean cleanText, boolean separateChinese, boolean stripAccents, boolean lowercase) {}
