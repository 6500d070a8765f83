package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.analysis.AttentionCost;
import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Backward computes only the requested gradients. */
class BackwardWorkTest {
    private static final Compute CPU = Compute.serial();

    @TempDir
    Path folder;

    private final Random random = new Random(1);
    private final Tensor x = TestTensors.random(random, 2, 5, 12);
    private final Tensor media = TestTensors.random(random, 2, 7, 12);
    private final Tensor dy = TestTensors.random(random, 2, 5, 12);
    private final MultiHeadAttention layer =
            MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(12, 3), 5);

    private static Tensor zeros(long... dims) {
        return TestTensors.zeros(DType.F32, dims);
    }

    /** Returns the number of matrix multiplications of backward. */
    private long multiplications(MultiHeadInputs inputs, MultiHeadGradients to, Map<String, Tensor> gradients)
            throws IOException {
        Path file = folder.resolve("backward.jfr");
        try (MultiHeadPass pass = layer.record(CPU, inputs, MultiHeadOutputs.of(zeros(2, 5, 12)), 0);
                Recording recording = new Recording()) {
            recording.enable("io.multihead.Gemm");
            recording.start();
            pass.backward(dy, to, gradients);
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).size();
    }

    /**
     * The output projection needs one multiplication for its input. Each requested input needs one for every projection
     * that read this input.
     */
    @Test
    void multiplicationsForInputsThatNobodyAsksForAreLeftOut() throws IOException {
        MultiHeadInputs cross = MultiHeadInputs.of(x, media);
        Tensor dx = zeros(2, 5, 12);
        Tensor dMedia = zeros(2, 7, 12);
        assertEquals(1, multiplications(cross, MultiHeadGradients.NONE, Map.of()));
        assertEquals(2, multiplications(cross, MultiHeadGradients.of(dx), Map.of()));
        assertEquals(3, multiplications(cross, MultiHeadGradients.of(null, dMedia), Map.of()));
        assertEquals(4, multiplications(cross, MultiHeadGradients.of(dx, dMedia), Map.of()));
        MultiHeadInputs values = MultiHeadInputs.of(x, x, TestTensors.random(random, 2, 5, 12));
        assertEquals(3, multiplications(values, MultiHeadGradients.of(dx), Map.of()));
        MultiHeadInputs self = MultiHeadInputs.of(x);
        assertEquals(1, multiplications(self, MultiHeadGradients.NONE, Map.of()));
        assertEquals(2, multiplications(self, MultiHeadGradients.of(dx), Map.of()));
        // parameters add one multiplication for each weight and bias of the output and of three inputs
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
        assertEquals(1 + 8, multiplications(cross, MultiHeadGradients.NONE, gradients));
    }

    /**
     * A pass keeps the projected heads and their attention, but no second output. Its memory is idle after it has been
     * closed.
     */
    @Test
    void aPassKeepsTheBytesThatItsCostStates() {
        try (Compute cpu = Compute.threads(1)) {
            MultiHeadPass pass = layer.record(cpu, x, zeros(2, 5, 12), 0);
            long before = cpu.heldBytes();
            pass.close();
            // log-sum-exp, 8 bytes per head and token, has separate memory
            assertEquals(new AttentionCost(12, 3).recordedBytes(2 * 5) - 8 * 3 * 2 * 5, cpu.heldBytes() - before);
        }
    }

    /**
     * The gradients of a call do not depend on the set of requested gradients, even if one tensor is several inputs.
     */
    @Test
    void gradientsDoNotDependOnWhichOthersAreWanted() {
        MultiHeadInputs[] calls = {
            MultiHeadInputs.of(x, media),
            MultiHeadInputs.of(x, media, TestTensors.random(random, 2, 7, 12)),
            MultiHeadInputs.of(x, x, TestTensors.random(random, 2, 5, 12))
        };
        for (MultiHeadInputs inputs : calls) {
            boolean key = inputs.key() != inputs.query();
            boolean value = inputs.value() != inputs.key();
            Tensor[] all = gradients(inputs, true, key, value);
            assertArrayEquals(all[0].toArray(), gradients(inputs, true, false, false)[0].toArray());
            if (key) {
                assertArrayEquals(all[1].toArray(), gradients(inputs, false, true, false)[1].toArray());
            }
            if (value) {
                assertArrayEquals(all[2].toArray(), gradients(inputs, false, false, true)[2].toArray());
            }
        }
    }

    /** If one tensor is several inputs, its gradient is a sum, which is rounded once. */
    @Test
    void aNarrowGradientIsTheRoundedOne() {
        MultiHeadInputs[] calls = {
            MultiHeadInputs.of(x, media), MultiHeadInputs.of(x, x, TestTensors.random(random, 2, 5, 12))
        };
        for (MultiHeadInputs inputs : calls) {
            boolean key = inputs.key() != inputs.query();
            Tensor[] exact = gradients(inputs, true, key, false);
            Tensor[] narrow = {
                TestTensors.zeros(DType.BF16, 2, 5, 12), key ? TestTensors.zeros(DType.BF16, 2, 7, 12) : null
            };
            try (MultiHeadPass pass = layer.record(CPU, inputs, MultiHeadOutputs.of(zeros(2, 5, 12)), 0)) {
                pass.backward(dy, MultiHeadGradients.of(narrow[0], narrow[1]), Map.of());
            }
            for (int i = 0; i < (key ? 2 : 1); i++) {
                Tensor rounded = exact[i].copy(Arena.ofAuto(), DType.BF16);
                assertArrayEquals(rounded.toArray(), narrow[i].toArray());
            }
        }
    }

    private Tensor[] gradients(MultiHeadInputs inputs, boolean query, boolean key, boolean value) {
        Tensor[] to = {
            query ? zeros(inputs.query().shape().toArray()) : null,
            key ? zeros(inputs.key().shape().toArray()) : null,
            value ? zeros(inputs.value().shape().toArray()) : null
        };
        try (MultiHeadPass pass = layer.record(CPU, inputs, MultiHeadOutputs.of(zeros(2, 5, 12)), 0)) {
            pass.backward(dy, MultiHeadGradients.of(to[0], to[1], to[2]), Map.of());
        }
        return to;
    }
}
