package io.multihead.internal.position;

/**
 * The angles of tokens at positions in one or several streams: a table, and the stream that each pair follows. Immutable and thread-safe.
 */
public final class PositionAngles {
    private final AngleTable table;
    /** The pairs of each stream, ascending; not read if there is one stream. */
    private final int[][] pairs;

    private PositionAngles(AngleTable table, int[][] pairs) {
        this.table = table;
        this.pairs = pairs;
    }

    /** Returns angles that all follow one stream of positions. */
    public static PositionAngles of(AngleTable table) {
        return new PositionAngles(table, new int[1][0]);
    }

    /** Returns angles of the same table that follow several streams, given the pairs of each; the arrays are not copied. */
    public PositionAngles withStreams(int[][] newPairs) {
        return new PositionAngles(table, newPairs);
    }

    /** Returns the number of streams, at least 1. */
    public int streams() {
        return pairs.length;
    }

    /** Returns the number of rotated elements of a row. */
    public int rotaryDims() {
        return 2 * table.layout().pairs();
    }

    /** Returns the number of positions that have angles. */
    public long positions() {
        return table.positions();
    }

    AngleLayout layout() {
        return table.layout();
    }

    /** Returns whether a token is copied: multiplying by 1 and 0 would change the sign of zeros, and infinities. */
    boolean isIdentity(long position) {
        return position == 0 && table.isIdentityAtZero();
    }

    /** Returns whether a token whose streams have positions {@code stride} apart is copied. */
    boolean isIdentity(long[] positions, int at, int stride) {
        return isIdentity(positions[at]) && isSame(positions, at, stride);
    }

    /** Writes the cosines and sines of a token with one position in all streams. */
    void load(long position, float[] to, int t0) {
        table.load(position, to, t0);
    }

    /** Writes the cosines and sines of a token whose streams have positions {@code stride} apart. */
    void load(long[] positions, int at, int stride, float[] to, int t0) {
        if (isSame(positions, at, stride)) {
            table.load(positions[at], to, t0);
            return;
        }
        for (int stream = 0; stream < pairs.length; stream++) {
            table.load(positions[at + stream * stride], pairs[stream], to, t0);
        }
    }

    /** Rotates a row in place by one position in all streams. */
    public void rotate(long position, float[] row, int at) {
        if (!isIdentity(position)) {
            table.rotate(position, row, at);
        }
    }

    /** Rotates a row in place by one position per stream, or by a single position for all streams. */
    public void rotate(long[] positions, float[] row, int at) {
        int stride = positions.length > 1 ? 1 : 0;
        if (isSame(positions, 0, stride)) {
            rotate(positions[0], row, at);
            return;
        }
        for (int stream = 0; stream < pairs.length; stream++) {
            table.rotate(positions[stream], pairs[stream], row, at);
        }
    }

    private boolean isSame(long[] positions, int at, int stride) {
        for (int stream = 1; stream < pairs.length; stream++) {
            if (positions[at + stream * stride] != positions[at]) {
                return false;
            }
        }
        return true;
    }
}
