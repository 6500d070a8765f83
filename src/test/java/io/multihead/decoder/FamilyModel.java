package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** A small model for tests of other packages. */
public final class FamilyModel {
    private FamilyModel() {}

    /** Returns the names of the families. */
    public static List<String> kinds() {
        return Arrays.stream(Kind.values()).map(Kind::name).toList();
    }

    /** Writes a model of a family with random weights. */
    public static void write(String kind, Path file) throws IOException {
        new FamilyFile(Kind.valueOf(kind), 5).write(file);
    }

    /** Writes a Llama with random weights, whose tokens are bytes. */
    public static void write(Path file) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).write(file);
    }

    /** Writes the same with a chat template; it has the tokens of ChatML. */
    public static void writeChat(Path file, String template) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).writeChat(file, template);
    }

    /** Writes the same with a context of so many tokens. */
    public static void writeChat(Path file, String template, int context) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).withContext(context).writeChat(file, template);
    }
}
