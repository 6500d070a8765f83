package io.multihead.fuzz;

import io.multihead.format.Gguf;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A GGUF file of arbitrary bytes, in memory and mapped. Both readers agree, all contents can be read, and a file that
 * is written from it has the same contents.
 */
public final class GgufFuzz {
    private static final Path FOLDER = Scratch.folder("gguf");
    private static final Path FILE = FOLDER.resolve("model.gguf");
    private static final Path COPY = FOLDER.resolve("copy.gguf");
    private static final Path COPY_OF_COPY = FOLDER.resolve("copy-of-copy.gguf");

    private GgufFuzz() {}

    public static void fuzzerTestOneInput(byte[] file) {
        Oracle.check(4L * file.length, () -> check(file));
    }

    private static void check(byte[] file) {
        boolean[] alone = {true};
        boolean parsed = Oracle.accepts("", () -> {
            Gguf read = Gguf.parse(MemorySegment.ofArray(file));
            alone[0] = read.find("split.count").isEmpty();
        });
        Scratch.write(FILE, file);
        boolean mapped = Oracle.accepts(FILE.toString(), () -> {
            try (Arena arena = Arena.ofConfined()) {
                Gguf read = Gguf.map(arena, FILE);
                readAll(read, file.length);
                Oracle.uncounted(() -> copies(read, arena));
            }
        });
        Oracle.require(
                parsed == mapped || !alone[0],
                parsed ? "mapping fails, parsing does not" : "parsing fails, mapping does not");
    }

    /**
     * Writes a copy. Names that are too long for llama.cpp and types without arithmetic are refused. Written files can
     * be read and written again.
     */
    private static void copies(Gguf read, Arena arena) {
        if (Oracle.accepts("", () -> copy(read, COPY))) {
            boolean again = Oracle.accepts("", () -> copy(Gguf.map(arena, COPY), COPY_OF_COPY));
            Oracle.require(again && sameFiles(), "a copy of the copy is another");
        }
    }

    private static boolean sameFiles() {
        try {
            return Files.mismatch(COPY, COPY_OF_COPY) < 0;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static void readAll(Gguf file, long bytes) {
        for (String key : file.keys()) {
            read(file.value(key));
        }
        for (String name : file.names()) {
            Oracle.require(file.type(name).length() > 0 && file.shape(name).elements() > 0, name);
            Oracle.accepts(FILE.toString(), () -> {
                Tensor tensor = file.tensor(name);
                Oracle.require(tensor.shape().elements() <= bytes, name + " is larger than the file");
                tensor.reshape(tensor.shape().elements()).get(tensor.shape().elements() - 1);
            });
            Oracle.accepts(FILE.toString(), () -> {
                BlockTensor blocks = file.blocks(name);
                if (blocks.columns() <= 4096) {
                    blocks.dequantizeRow(blocks.rows() - 1, new float[(int) blocks.columns()], 0);
                }
            });
        }
        Oracle.require(!Oracle.accepts(FILE.toString(), () -> file.tensor("absent\n")), "a tensor that is not there");
        Oracle.require(!Oracle.accepts(FILE.toString(), () -> file.value("absent\n")), "a key that is not there");
    }

    /** Reads a value with the getter of its type, and with a getter of another type, which refuses it. */
    private static void read(GgufValue value) {
        if (value.type() != GgufType.ARRAY) {
            readOne(value);
            Oracle.require(!Oracle.accepts("", value::strings), value + " was taken for an array");
            return;
        }
        GgufType elements = value.elementType();
        if (elements == GgufType.STRING) {
            Oracle.accepts("", () -> value.strings().forEach(String::length));
        } else if (elements.isInteger()) {
            Oracle.accepts("", value::integers);
        } else if (elements == GgufType.ARRAY) {
            value.values().forEach(GgufFuzz::read);
        } else if (elements == GgufType.BOOL) {
            value.values().forEach(GgufValue::bool);
        } else {
            Oracle.require(value.reals().length == value.length(), value.toString());
        }
        Oracle.require(!Oracle.accepts("", value::string), value + " was taken for a string");
    }

    /** Reads a value that is not an array. Texts that are not UTF-8 and 64-bit integers may be refused. */
    private static void readOne(GgufValue value) {
        switch (value.type()) {
            case STRING -> Oracle.accepts("", value::string);
            case BOOL -> value.bool();
            case F32, F64 -> value.real();
            default -> Oracle.accepts("", value::integer);
        }
    }

    private static void copy(Gguf from, Path to) throws IOException {
        GgufWriter writer = new GgufWriter();
        for (String key : from.keys()) {
            writer.put(key, from.value(key));
        }
        for (String name : from.names()) {
            if (from.blockType(name).isPresent()) {
                writer.blocks(name, from.blocks(name));
            } else {
                writer.tensor(name, from.tensor(name));
            }
        }
        writer.write(to);
    }
}
