package io.multihead.position;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A few tokens whose angles one thread has at hand, and one head at a time of their rows. */
final class RopeTile {
    /** Angles and rows of 128 dims fill half of a first-level cache of 32 KiB. */
    static final int TOKENS = 16;

    private static final FloatsKey ANGLE = new FloatsKey();
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey COPY = new FloatsKey();

    private @Nullable RopeCall call;
    private @Nullable Workspace scratch;
    private float[] turns = new float[0];
    private float[] rows = new float[0];
    /** Floats from one token's angles to the next. */
    private int angles;
    /** Floats from one token's row to the next. */
    private int ld;

    private long token;
    private int tokens;

    void open(RopeCall newCall, long newToken, Workspace newScratch) {
        call = newCall;
        scratch = newScratch;
        AngleTable table = newCall.angles();
        angles = table.floats();
        ld = Lanes.roundUp(newCall.rotaryDims, PANEL);
        token = newToken;
        tokens = (int) Math.min(TOKENS, newCall.x().dim(2) - newToken);
        turns = newScratch.floats(ANGLE, TOKENS * angles);
        rows = newScratch.floats(ROW, TOKENS * ld);
        for (int t = 0; t < tokens; t++) {
            table.load(newCall.position(newToken + t), turns, t * angles);
        }
    }

    /** Rotates or copies every token's row of one head. */
    void turn(long batch, long head) {
        RopeCall of = Checks.notNull(call, "call");
        Packer packer = Checks.notNull(scratch, "scratch").packer();
        Tensor x = of.x();
        Tensor y = of.y();
        long from = Positions.of(x, batch, head, token);
        long to = Positions.of(y, batch, head, token);
        int next;
        for (int t = 0; t < tokens; t = next) {
            next = t + 1;
            boolean rests = of.rests(token + t);
            while (!rests && next < tokens && !of.rests(token + next)) {
                next++;
            }
            long readAt = from + t * x.stride(2);
            long writeAt = to + t * y.stride(2);
            if (!rests) {
                packer.read(x, readAt, x.stride(2), x.stride(3), next - t, of.rotaryDims, rows, 0, ld);
                for (int i = t; i < next; i++) {
                    of.angles().turn(rows, (i - t) * ld, turns, i * angles, of.direction);
                }
                packer.write(rows, 0, ld, next - t, of.rotaryDims, y, writeAt, y.stride(2), y.stride(3));
            }
            int copied = rests ? 0 : of.rotaryDims;
            for (int i = t; i < next && !of.inPlace; i++) {
                copy(packer, x, from + i * x.stride(2), y, to + i * y.stride(2), copied);
            }
        }
    }

    /** The end of one row: its bytes between equal types, through f32 otherwise. */
    private void copy(Packer packer, Tensor x, long from, Tensor y, long to, int first) {
        int count = (int) x.dim(3) - first;
        if (count == 0) {
            return;
        }
        long readAt = from + first * x.stride(3);
        long writeAt = to + first * y.stride(3);
        if (x.dtype() != y.dtype()) {
            float[] row = Checks.notNull(scratch, "scratch").floats(COPY, Lanes.roundUp(count, PANEL));
            packer.read(x, readAt, 0, x.stride(3), 1, count, row, 0, 0);
            packer.write(row, 0, 0, 1, count, y, writeAt, 0, y.stride(3));
            return;
        }
        int bytes = x.dtype().bytes();
        boolean run = x.stride(3) == 1 && y.stride(3) == 1;
        long length = run ? (long) count * bytes : bytes;
        for (int i = 0; i < (run ? 1 : count); i++) {
            MemorySegment.copy(
                    x.memory(),
                    (readAt + i * x.stride(3)) * bytes,
                    y.memory(),
                    (writeAt + i * y.stride(3)) * bytes,
                    length);
        }
    }

    /** Forgets the call. */
    void close() {
        call = null;
        scratch = null;
    }
}
