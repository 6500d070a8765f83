package io.multihead.fuzz;

import java.nio.file.Path;

/** A GGUF file of any bytes as a language model, which is refused with its name or generates tokens. */
public final class DecoderGgufFuzz {
    private static final Path FILE = Scratch.folder("decoder").resolve("model.gguf");

    private DecoderGgufFuzz() {}

    /** Loads the classes of a model before the first input, whose time is limited. */
    public static void fuzzerInitialize() {
        fuzzerTestOneInput(SmallDecoder.gguf(null));
    }

    public static void fuzzerTestOneInput(byte[] file) {
        Scratch.write(FILE, file);
        Oracle.check(
                file.length,
                Oracle.ALLOCATED_BY_DECODER,
                () -> Oracle.accepts(FILE.toString(), () -> DecoderUse.run(FILE, false)));
    }
}
