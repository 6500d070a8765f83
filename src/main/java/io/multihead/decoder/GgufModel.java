package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A GGUF file. */
record GgufModel(Gguf file) implements ModelFile {
    @Override
    public Set<String> names() {
        return file.names();
    }

    @Override
    public @Nullable BlockTensor findBlocks(String name) {
        return file.blockType(name).isPresent() ? file.blocks(name) : null;
    }

    @Override
    public Tensor tensor(String name) {
        return file.tensor(name);
    }

    @Override
    public Shape shape(String name) {
        return file.shape(name);
    }

    @Override
    public long bytes() {
        return file.names().stream().mapToLong(this::bytes).sum();
    }

    private long bytes(String name) {
        long elements = file.shape(name).elements();
        return file.blockType(name)
                .map(blocks -> elements / blocks.elements() * blocks.bytes())
                .orElse(elements * ModelFile.bytesOfElement(file.type(name)));
    }

    @Override
    public String nameOf(String ggufName) {
        return ggufName;
    }
}
