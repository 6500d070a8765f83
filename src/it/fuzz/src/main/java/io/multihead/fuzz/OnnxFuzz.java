package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.format.OnnxWeights;
import io.multihead.model.Pooling;
import java.io.ByteArrayInputStream;
import java.io.InputStream;

/** An ONNX file of arbitrary bytes, which is read at once and byte by byte, as weights and as an encoder. */
public final class OnnxFuzz {
    private static final Compute CPU = Compute.serial();
    private static final byte[] TOKENIZER = SmallModel.tokenizerJson();

    private OnnxFuzz() {}

    public static void fuzzerTestOneInput(byte[] file) {
        Oracle.check(3L * file.length, () -> check(file));
    }

    private static void check(byte[] file) {
        String[] read = {"", ""};
        boolean whole = Oracle.accepts("", () -> read[0] = describe(new ByteArrayInputStream(file)));
        boolean slow = Oracle.accepts("", () -> read[1] = describe(new Dribble(file)));
        Oracle.require(whole == slow && read[0].equals(read[1]), "byte by byte: " + read[1] + ", at once: " + read[0]);
        Oracle.accepts("", () -> {
            InputStream tokenizer = new ByteArrayInputStream(TOKENIZER);
            try (SentenceEncoder encoder =
                    SentenceEncoder.ofOnnx(CPU, new ByteArrayInputStream(file), tokenizer, Pooling.MEAN)) {
                Oracle.uncounted(() -> Oracle.computes(false, () -> encoder.embed("ab c")));
            }
        });
    }

    private static String describe(InputStream in) throws java.io.IOException {
        OnnxWeights weights = OnnxWeights.read(in);
        StringBuilder all = new StringBuilder();
        for (String name : weights.names()) {
            all.append(name)
                    .append(weights.get(name))
                    .append(java.util.Arrays.hashCode(weights.get(name).toArray()));
        }
        return all.append(weights.operations())
                .append(weights.constant("/a/Div"))
                .toString();
    }

    /** Returns one byte per read, and never reports available bytes. */
    private static final class Dribble extends InputStream {
        private final byte[] bytes;
        private int at;

        Dribble(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public int read() {
            return at < bytes.length ? bytes[at++] & 0xff : -1;
        }

        @Override
        public int read(byte[] to, int offset, int length) {
            if (length == 0) {
                return 0;
            }
            int next = read();
            if (next < 0) {
                return -1;
            }
            to[offset] = (byte) next;
            return 1;
        }
    }
}
