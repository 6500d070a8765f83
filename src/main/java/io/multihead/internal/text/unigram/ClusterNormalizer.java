package io.multihead.internal.text.unigram;

import io.multihead.internal.text.unicode.Graphemes;
import io.multihead.internal.text.unicode.Utf8;
import java.util.List;

/**
 * The normalizer {@code Precompiled} of HuggingFace's crate, and the steps that may follow it in a file. A user-perceived character of less
 * than six bytes is replaced by the map's text for the shortest sequence with which it begins, if there is one; otherwise each of its code
 * points is replaced in this way. SentencePiece itself replaces the longest sequences of the whole text instead ({@link
 * SentenceNormalizer}).
 */
public final class ClusterNormalizer implements UnigramNormalizer {
    private static final int LONGEST = 5;
    private static final int ASCII = 0x80;

    private final CharacterMap map;
    private final List<NormalizerStep> steps;
    private final Graphemes graphemes = new Graphemes();
    /** By ASCII character: its replacement if it is a separate character. */
    private final long[] ascii = new long[ASCII];

    public ClusterNormalizer(CharacterMap map, List<NormalizerStep> steps) {
        this.map = map;
        this.steps = steps;
        for (byte c = 0; c >= 0; c++) {
            ascii[c] = map.shortest(new byte[] {c}, 0, 1);
        }
    }

    @Override
    public void normalize(UnigramBuffer buffer, int origin) {
        byte[] source = buffer.source;
        int length = buffer.sourceEnd;
        int index = origin;
        for (int at = 0; at < length; ) {
            byte first = source[at];
            if (first >= 0 && first != '\r' && (at + 1 == length || source[at + 1] >= 0)) {
                if (ascii[first] == CharacterMap.NONE) {
                    buffer.put(first, index);
                } else {
                    replace(buffer, ascii[first], index);
                }
                index++;
                at++;
            } else {
                int end = graphemes.end(source, at, length);
                cluster(buffer, at, end, index);
                index += UnigramNormalizer.chars(buffer, at, end);
                at = end;
            }
        }
        buffer.finish(index);
        NormalizerStep.apply(steps, buffer);
    }

    private void cluster(UnigramBuffer buffer, int from, int end, int origin) {
        if (end - from <= LONGEST) {
            long match = map.shortest(buffer.source, from, end);
            if (match != CharacterMap.NONE) {
                replace(buffer, match, origin);
                return;
            }
        }
        int index = origin;
        for (int at = from; at < end; ) {
            int next = at + Utf8.length(buffer.source[at]);
            long match = map.shortest(buffer.source, at, next);
            if (match == CharacterMap.NONE) {
                UnigramNormalizer.copy(buffer, at, index);
            } else {
                replace(buffer, match, index);
            }
            index += Utf8.chars(buffer.source[at]);
            at = next;
        }
    }

    private void replace(UnigramBuffer buffer, long match, int origin) {
        map.copyText(match, buffer, origin);
    }
}
