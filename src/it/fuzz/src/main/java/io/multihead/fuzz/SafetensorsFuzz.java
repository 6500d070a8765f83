package io.multihead.fuzz;

import io.multihead.format.Safetensors;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** A safetensors file of arbitrary bytes, in memory and mapped. Both readers agree, and every tensor can be read. */
public final class SafetensorsFuzz {
    private static final Path FILE = Scratch.folder("safetensors").resolve("model.safetensors");

    private SafetensorsFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        byte[] file = Framed.file(input);
        Oracle.check(2L * file.length, () -> check(file));
    }

    private static void check(byte[] file) {
        boolean parsed = Oracle.accepts("", () -> Safetensors.parse(MemorySegment.ofArray(file)));
        Scratch.write(FILE, file);
        boolean mapped = Oracle.accepts(FILE.toString(), () -> {
            try (Arena arena = Arena.ofConfined()) {
                readAll(Safetensors.map(arena, FILE), file.length);
            }
        });
        Oracle.require(
                parsed == mapped, parsed ? "mapping fails, parsing does not" : "parsing fails, mapping does not");
    }

    private static void readAll(Safetensors file, long bytes) {
        file.metadata().forEach((key, value) -> Oracle.require(value != null, key));
        for (String name : file.names()) {
            Oracle.accepts("tensor \"", () -> {
                Tensor tensor = file.get(name);
                if (tensor.shape().elements() <= bytes) {
                    Numbers.of(tensor);
                }
            });
            Oracle.accepts("tensor \"", () -> file.longs(name));
        }
        Oracle.require(
                file.contains("absent") || !Oracle.accepts("tensor \"absent\"", () -> file.get("absent")),
                "a tensor that is not there");
    }
}
