package io.multihead.train;

import io.multihead.nn.Layer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The class of docs/layers.md. */
final class Resume {
    private static final String MODEL = "two blocks of 64 features";

    private Resume() {}

    /** Returns the first step to train: 0 without a checkpoint. */
    static long load(Path file, Layer model, Optimizer optimizer) throws IOException {
        if (Files.notExists(file)) {
            return 0;
        }
        long step = Checkpoint.load(file, MODEL, model.parameters(), optimizer).get("step");
        model.parametersChanged();
        return step;
    }

    static void save(Path file, long steps, Layer model, Optimizer optimizer) throws IOException {
        Checkpoint.save(file, MODEL, Map.of("step", steps), model.parameters(), optimizer);
    }
}
