package io.multihead.internal.position;

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

/** A few tokens whose angles one thread has loaded, and one head at a time of their rows. */
final class RopeTile {
    /** The number of tokens. Their angles and rows of 128 dims fill half of a first-level cache of 32 KiB. */
    static final int TOKENS = 16;

    private static final FloatsKey ANGLE = new FloatsKey();
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey COPY = new FloatsKey();
    private static final FloatsKey COSINES = new FloatsKey();
    private static final FloatsKey SINES = new FloatsKey();

    private @Nullable RopeProblem problem;
    private @Nullable Workspace scratch;
    private float[] angles = new float[0];
    private float[] rows = new float[0];
    private AngleLayout layout = new AngleLayout(1, false);
    /** Floats from one token's angles to the next. */
    private int angleFloats;
    /** Floats from one token's row to the next. */
    private int ld;

    private long token;
    private int tokens;
    /** The sequence whose angles are loaded, 0 if all share them; -1 for none. */
    private long loaded;

    void open(RopeProblem newProblem, long newToken, Workspace newScratch) {
        problem = newProblem;
        scratch = newScratch;
        layout = newProblem.layout();
        angleFloats = layout.floats();
        ld = Lanes.roundUp(newProblem.rotaryDims, PANEL);
        token = newToken;
        tokens = (int) Math.min(TOKENS, newProblem.x().dim(2) - newToken);
        angles = newScratch.floats(ANGLE, TOKENS * angleFloats);
        rows = newScratch.floats(ROW, TOKENS * ld);
        loaded = -1;
    }

    /** Loads the angles of a sequence's tokens, unless they are already loaded. */
    void loadAngles(long batch) {
        RopeProblem of = Checks.notNull(problem, "problem");
        long wanted = of.hasAnglesPerBatch() ? batch : 0;
        if (wanted == loaded) {
            return;
        }
        loaded = wanted;
        AngleTensors given = of.given();
        if (given != null) {
            read(given, wanted);
            return;
        }
        for (int t = 0; t < tokens; t++) {
            of.load(batch, token + t, angles, t * angleFloats);
        }
    }

    private void read(AngleTensors given, long batch) {
        int pairs = layout.pairs();
        int wide = Lanes.roundUp(pairs, PANEL);
        float[] cosines = read(given.cos(), batch, wide, COSINES);
        float[] sines = read(given.sin(), batch, wide, SINES);
        for (int t = 0; t < tokens; t++) {
            layout.putAll(angles, t * angleFloats, cosines, sines, t * wide);
        }
    }

    private float[] read(Tensor from, long batch, int wide, FloatsKey key) {
        Workspace memory = Checks.notNull(scratch, "scratch");
        float[] to = memory.floats(key, TOKENS * wide);
        long at = from.offset() + (from.rank() == 3 ? batch * from.stride(0) : 0) + token * from.stride(-2);
        memory.packer().read(from, at, from.stride(-2), from.stride(-1), tokens, layout.pairs(), to, 0, wide);
        return to;
    }

    /** Rotates or copies every token's row of one head. */
    void rotate(long batch, long head) {
        RopeProblem of = Checks.notNull(problem, "problem");
        Packer packer = Checks.notNull(scratch, "scratch").packer();
        Tensor x = of.x();
        Tensor y = of.y();
        long from = Positions.of(x, batch, head, token);
        long to = Positions.of(y, batch, head, token);
        int next;
        for (int t = 0; t < tokens; t = next) {
            next = t + 1;
            boolean identity = of.isIdentity(batch, token + t);
            while (!identity && next < tokens && !of.isIdentity(batch, token + next)) {
                next++;
            }
            long readAt = from + t * x.stride(2);
            long writeAt = to + t * y.stride(2);
            if (!identity) {
                packer.read(x, readAt, x.stride(2), x.stride(3), next - t, of.rotaryDims, rows, 0, ld);
                for (int i = t; i < next; i++) {
                    layout.rotate(rows, (i - t) * ld, angles, i * angleFloats, of.direction);
                }
                packer.write(rows, 0, ld, next - t, of.rotaryDims, y, writeAt, y.stride(2), y.stride(3));
            }
            int copied = identity ? 0 : of.rotaryDims;
            for (int i = t; i < next && !of.inPlace; i++) {
                copy(packer, x, from + i * x.stride(2), y, to + i * y.stride(2), copied);
            }
        }
    }

    /** Copies the end of one row: bytes if the types are equal, otherwise elements through f32. */
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

    /** Drops the references to the call. */
    void close() {
        problem = null;
        scratch = null;
    }
}
