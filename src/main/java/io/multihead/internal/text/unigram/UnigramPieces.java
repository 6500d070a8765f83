package io.multihead.internal.text.unigram;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The pieces of a Unigram model (Kudo 2018), and the division of a word into the pieces with the largest sum of scores (Viterbi 1967). Text
 * without a piece is unknown, code point by code point. Among equal sums, the sum with the longest last piece is chosen. The time is
 * proportional to the word's length times the length of the longest piece, which is bounded. Immutable and thread-safe.
 */
public final class UnigramPieces {
    /** The largest number of bytes of a piece; pieces of real vocabularies have up to 93. */
    private static final int LONGEST = 512;
    /** The number that SentencePiece and the crate subtract from the lowest score for an unknown code point. */
    private static final double UNKNOWN_PENALTY = 10;

    private final PieceArray pieces;
    private final double[] scores;
    private final int unknown;
    private final double unknownScore;
    /** Whether sums are rounded to f32, as in SentencePiece. */
    private final boolean rounded;

    /**
     * The contents of a model's file.
     *
     * @param tokens the pieces by id
     * @param reserved ids of control tokens and similar tokens
     * @param scores the scores by id, also of unknown code points
     * @param lowest the lowest score from which the score of unknown code points is computed
     * @param rounded whether sums are rounded to f32
     */
    public record Model(List<String> tokens, BitSet reserved, double[] scores, double lowest, boolean rounded) {}

    /**
     * Makes the pieces of a vocabulary; among equal pieces, the last one is used. Control tokens and similar tokens are pieces only if
     * {@code all}.
     */
    public UnigramPieces(Model model, int unknown, boolean all) {
        int count = model.tokens.size();
        Checks.index(2L * count, PieceArray.MOST_VALUE, "twice the vocabulary size");
        Map<String, Integer> ids = HashMap.newHashMap(count);
        for (int id = 0; id < count; id++) {
            if (all || !model.reserved.get(id)) {
                ids.put(model.tokens.get(id), id);
            }
        }
        List<PieceArray.Entry> entries = new ArrayList<>(ids.size());
        ids.forEach((piece, id) -> {
            // spaces become marks before a text is divided, so a piece with a space never occurs
            if (!piece.isEmpty() && piece.indexOf(' ') < 0) {
                entries.add(new PieceArray.Entry(bytes(piece), id << 1 | (model.reserved.get(id) ? 1 : 0)));
            }
        });
        pieces = new PieceArray(entries);
        scores = model.scores;
        this.unknown = unknown;
        double score = model.lowest - UNKNOWN_PENALTY;
        rounded = model.rounded;
        unknownScore = rounded ? (float) score : score;
    }

    /** Returns a piece in the form that {@link UnigramBuffer} uses. */
    public static byte[] bytes(String piece) {
        byte[] utf8 = piece.getBytes(StandardCharsets.UTF_8);
        if (utf8.length > LONGEST || piece.indexOf('\0') >= 0) {
            throw Checks.fail(
                    "piece \"" + piece + "\"",
                    utf8.length + " bytes" + (piece.indexOf('\0') >= 0 ? " with U+0000" : ""),
                    "expected at most " + LONGEST + " without U+0000");
        }
        int size = 0;
        for (int i = 0; i < utf8.length; i++) {
            boolean mark = i + 2 < utf8.length
                    && utf8[i] == (byte) 0xe2
                    && utf8[i + 1] == (byte) 0x96
                    && utf8[i + 2] == (byte) 0x81;
            utf8[size++] = mark ? UnigramBuffer.MARK : utf8[i];
            i += mark ? 2 : 0;
        }
        return Arrays.copyOf(utf8, size);
    }

    /**
     * Finds the best way to each code point of a word of the buffer's text: for each, the beginning of its last piece, and that piece's id.
     * Then the buffer's {@code starts} are reversed: for each place of the best way, the end of the piece that begins there.
     *
     * @param special whether control tokens and similar tokens are also pieces
     */
    public void divide(UnigramBuffer buffer, int from, int end, boolean special) {
        int length = end - from;
        buffer.reserve(length);
        byte[] text = buffer.text;
        double[] best = buffer.best;
        int[] starts = buffer.starts;
        int[] ids = buffer.ids;
        int reached = 0;
        best[0] = 0;
        for (int start = 0; start < length; ) {
            double before = best[start];
            int next = start + buffer.length(from + start);
            boolean single = false;
            int state = pieces.root;
            for (int at = start; at < length; ) {
                int unit = pieces.unit(state, text[from + at++]);
                if (unit == 0) {
                    break;
                }
                state = PieceArray.state(unit);
                if (!PieceArray.ends(unit)) {
                    continue;
                }
                int value = pieces.value(state);
                if (special || (value & 1) == 0) {
                    single |= at == next;
                    double sum = before + scores[value >> 1];
                    reached = reach(starts, reached, at);
                    if (starts[at] < 0 || sum > best[at]) {
                        best[at] = rounded ? (float) sum : sum;
                        starts[at] = start;
                        ids[at] = value >> 1;
                    }
                }
            }
            if (!single) {
                double sum = before + unknownScore;
                sum = rounded ? (float) sum : sum;
                reached = reach(starts, reached, next);
                if (starts[next] < 0 || sum > best[next]) {
                    best[next] = sum;
                    starts[next] = start;
                    ids[next] = unknown;
                }
            }
            start = next;
        }
        turnRound(starts, length);
    }

    /** Marks the places up to a new one as not reached. */
    private static int reach(int[] starts, int reached, int at) {
        for (int i = reached + 1; i <= at; i++) {
            starts[i] = -1;
        }
        return Math.max(reached, at);
    }

    private static void turnRound(int[] starts, int length) {
        int end = length;
        for (int at = length == 0 ? 0 : starts[length]; end > 0; ) {
            int before = at == 0 ? 0 : starts[at];
            starts[at] = end;
            end = at;
            at = before;
        }
    }
}
