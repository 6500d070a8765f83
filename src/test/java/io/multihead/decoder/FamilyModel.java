package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import java.io.IOException;
import java.nio.file.Path;

/** A small model for tests of other packages. */
public final class FamilyModel {
    private FamilyModel() {}

    /** Writes a Llama with random weights, whose tokens are bytes. */
    public static void write(Path file) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).write(file);
    }

    /** Writes the same with a chat template; it has the tokens of ChatML. */
    public static void writeChat(Path file, String template) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).writeChat(file, template);
    }
}
