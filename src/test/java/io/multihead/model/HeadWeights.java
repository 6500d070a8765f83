package io.multihead.model;

import io.multihead.reference.ReferenceTransformer;

/** Changes the weights of heads in the specification. */
final class HeadWeights {
    private HeadWeights() {}

    /** Returns attention with an output projection that multiplies the output of each head by a factor. */
    static ReferenceTransformer.Part weighted(ReferenceTransformer.Part part, float... factors) {
        if (part instanceof ReferenceTransformer.GatedAttention gated) {
            ReferenceTransformer.Part inner = weighted(gated.attention(), factors);
            return new ReferenceTransformer.GatedAttention((ReferenceTransformer.Attention) inner, gated.gates());
        }
        ReferenceTransformer.Attention of = (ReferenceTransformer.Attention) part;
        double[] weight = of.output().weight().clone();
        int inputs = of.output().inputs();
        for (int i = 0; i < weight.length; i++) {
            weight[i] *= factors[i % inputs / (inputs / of.heads())];
        }
        ReferenceTransformer.Linear output = new ReferenceTransformer.Linear(
                weight, of.output().bias(), of.output().outputs(), inputs);
        return new ReferenceTransformer.Attention(
                of.projections(), output, of.heads(), of.keyValueHeads(), of.scores());
    }

    /**
     * Returns half of a projection with two consecutive parts for each head.
     *
     * @param from 0 for the first part of each head, headDim for the second
     */
    static ReferenceTransformer.Linear half(ReferenceTransformer.Linear of, int headDim, int from) {
        double[] weight = new double[of.weight().length / 2];
        double[] bias = of.bias() == null ? null : new double[of.outputs() / 2];
        for (int row = 0; row < of.outputs() / 2; row++) {
            int read = row / headDim * 2 * headDim + from + row % headDim;
            System.arraycopy(of.weight(), read * of.inputs(), weight, row * of.inputs(), of.inputs());
            if (bias != null) {
                bias[row] = of.bias()[read];
            }
        }
        return new ReferenceTransformer.Linear(weight, bias, of.outputs() / 2, of.inputs());
    }
}
