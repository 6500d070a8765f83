package io.multihead.decoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The weights of a folder of Hugging Face's, by the names of its models. */
final class FolderModel implements ModelFile {
    /** Tables of older checkpoints that positions are computed from here. */
    private static final String FREQUENCIES = ".rotary_emb.inv_freq";

    private static final String PREFIX = "model.";

    private final SafetensorsFolder weights;
    private final HuggingFaceNames translation;
    private final Set<String> names;
    private final boolean prefixed;

    FolderModel(SafetensorsFolder weights, Family family) {
        this.weights = weights;
        names = weights.names().stream()
                .filter(name -> !name.endsWith(FREQUENCIES))
                .collect(Collectors.toUnmodifiableSet());
        // models for embeddings are stored without their head, and without this prefix
        prefixed = names.stream().anyMatch(name -> name.startsWith(PREFIX));
        translation = new HuggingFaceNames(prefixed ? PREFIX : "", family.renamed());
    }

    @Override
    public Set<String> names() {
        return names;
    }

    @Override
    public @Nullable BlockTensor findBlocks(String name) {
        return null;
    }

    @Override
    public Tensor tensor(String name) {
        return weights.get(name);
    }

    @Override
    public Shape shape(String name) {
        return weights.shape(name);
    }

    @Override
    public long bytes() {
        return names.stream()
                .mapToLong(name -> weights.shape(name).elements() * ModelFile.bytesOfElement(weights.elementType(name)))
                .sum();
    }

    @Override
    public boolean isForEmbeddings() {
        return !prefixed;
    }

    @Override
    public String nameOf(String ggufName) {
        return translation.of(ggufName);
    }
}
