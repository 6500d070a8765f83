package io.multihead.text;

import io.multihead.internal.text.words.WordCache;

/** A tokenizer that divides each word independently of its context, and caches divided words. */
abstract class WordTokenizer extends PieceTokenizer {
    private final WordCache cache = new WordCache();

    WordTokenizer(
            Vocabulary vocabulary, byte[][] bytes, SpecialIds special, AddedTokens inText, AddedTokens inSpecialText) {
        super(vocabulary, bytes, special, inText, inSpecialText);
    }

    /** Adds the ids of a word, which do not depend on its context. */
    abstract void divide(EncodeBuffer buffer, int from, int end);

    /** Adds the ids of a word, from the cache if it has them. */
    final void encodeWord(EncodeBuffer buffer, int from, int end) {
        if (end - from > WordCache.LONGEST) {
            divide(buffer, from, end);
            return;
        }
        int[] known = cache.find(buffer.text, from, end);
        if (known != null) {
            buffer.add(known);
            return;
        }
        int before = buffer.size();
        divide(buffer, from, end);
        cache.put(buffer.text, from, end, buffer.idsFrom(before));
    }
}
