package io.multihead.fuzz;

import java.nio.file.Path;

/** A GGUF file of arbitrary bytes as a language model. It is refused with its name, or generates tokens. */
public final class DecoderGgufFuzz {
    private static final Path FILE = Scratch.folder("decoder").resolve("model.gguf");

    private DecoderGgufFuzz() {}

    /** Loads the classes of a model before the first input, since the time of an input is limited. */
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
