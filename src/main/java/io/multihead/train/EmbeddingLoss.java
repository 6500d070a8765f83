package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Losses based on the cosines of vectors, with gradients, for fine-tuning of embeddings. Vectors need not have length 1. Sums are {@code
 * double}, on the calling thread, so results always have the same bits. Immutable and thread-safe. The caller owns the tensors.
 *
 * <p>{@link #withDims} computes a loss for several sizes and takes their mean (Kusupati et al. 2022, "Matryoshka representation learning").
 * After such training, the first elements of a vector can be used as a smaller vector.
 */
public final class EmbeddingLoss {
    private static final EmbeddingLoss WHOLE = new EmbeddingLoss();

    private final int[] dims;

    private EmbeddingLoss(int... dims) {
        this.dims = dims;
    }

    /** {@return losses of whole vectors} */
    public static EmbeddingLoss of() {
        return WHOLE;
    }

    /**
     * {@return losses of the first elements of vectors, as the mean over several sizes}
     *
     * @param sizes the numbers of elements, each at least 1; usually the whole size is one of them
     * @throws IllegalArgumentException if there is no size or a size is below 1
     */
    public EmbeddingLoss withDims(int... sizes) {
        int[] copy = Checks.notNull(sizes, "sizes").clone();
        if (copy.length == 0 || IntStream.of(copy).anyMatch(size -> size < 1)) {
            throw Checks.fail("sizes", Arrays.toString(copy), "expected one or more, each at least 1");
        }
        return new EmbeddingLoss(copy);
    }

    /**
     * Computes the loss of multiple negatives (Henderson et al. 2017, section 4.4), as sentence-transformers' {@code
     * MultipleNegativesRankingLoss}: the mean cross-entropy of {@code scale cos(anchor_i, candidate_j)} over j, where candidate i is
     * the positive of anchor i. All other candidates of the batch are negatives. Hard negatives follow as further candidates.
     *
     * @param scale factor of cosines, above 0; 20 in sentence-transformers
     * @param anchors {@code [n, dim]}, floating-point
     * @param candidates {@code [m, dim]}, at least as many as anchors, and at least 2: a single pair has no negatives
     * @param anchorGradient a tensor of the anchors' shape, written
     * @param candidateGradient a tensor of the candidates' shape, written
     * @return the loss
     * @throws IllegalArgumentException if the scale, a shape or a type does not fit; nothing is written
     */
    public double multipleNegatives(
            double scale, Tensor anchors, Tensor candidates, Tensor anchorGradient, Tensor candidateGradient) {
        return negatives(scale, false, new Vectors(anchors, candidates, anchorGradient, candidateGradient));
    }

    /**
     * Computes the mean of the loss of multiple negatives and of the same loss in the other direction, as sentence-transformers' {@code
     * MultipleNegativesSymmetricRankingLoss}: the other anchors of the batch are negatives of a positive. Hard negatives have no loss in
     * the other direction.
     *
     * @param scale factor of cosines, above 0; 20 in sentence-transformers
     * @param anchors {@code [n, dim]}, floating-point
     * @param candidates {@code [m, dim]}, at least as many as anchors, and at least 2: a single pair has no negatives
     * @param anchorGradient a tensor of the anchors' shape, written
     * @param candidateGradient a tensor of the candidates' shape, written
     * @return the loss
     * @throws IllegalArgumentException if the scale, a shape or a type does not fit; nothing is written
     */
    public double symmetricNegatives(
            double scale, Tensor anchors, Tensor candidates, Tensor anchorGradient, Tensor candidateGradient) {
        return negatives(scale, true, new Vectors(anchors, candidates, anchorGradient, candidateGradient));
    }

    private record Vectors(Tensor anchors, Tensor candidates, Tensor anchorGradient, Tensor candidateGradient) {}

    private double negatives(double scale, boolean symmetric, Vectors vectors) {
        if (!(scale > 0 && scale < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("scale", String.valueOf(scale), "expected a finite number above 0");
        }
        Tensor anchors = vectors.anchors;
        Tensor candidates = vectors.candidates;
        Sides sides = new Sides(anchors, "anchors", candidates, "candidates");
        if (candidates.dim(0) < anchors.dim(0)) {
            throw Checks.fail(
                    "candidates",
                    candidates.dim(0) + " vectors",
                    "expected at least " + anchors.dim(0) + ", as in anchors");
        }
        if (candidates.dim(0) < 2) {
            // the loss would be 0, and a step would learn nothing
            throw Checks.fail(
                    "candidates", "1 vector", "expected at least 2: the others are the negatives of an anchor");
        }
        sides.requireGradients(
                vectors.anchorGradient, "anchorGradient", vectors.candidateGradient, "candidateGradient");
        int directions = symmetric ? 2 : 1;
        double loss = 0;
        for (int dim : dims(anchors)) {
            UnitRows left = sides.left(dim);
            UnitRows right = sides.right(dim);
            for (int i = 0; i < left.rows(); i++) {
                double own = ranked(scale, left, right, i, directions * left.rows());
                double back = symmetric ? ranked(scale, right, left, i, directions * left.rows()) : 0;
                loss += (own + back) / (directions * left.rows());
            }
            sides.add(left, right);
        }
        return sides.write(loss, vectors.anchorGradient, vectors.candidateGradient);
    }

    /** Returns the cross-entropy of row i among all rows of the right vectors, and adds the gradient, divided by the number of terms. */
    private static double ranked(double scale, UnitRows left, UnitRows right, int i, int terms) {
        double[] scores = new double[right.rows()];
        Arrays.setAll(scores, j -> scale * left.cosine(i, right, j));
        double max = Arrays.stream(scores).max().orElse(0);
        double sum =
                Arrays.stream(scores).map(score -> StrictMath.exp(score - max)).sum();
        for (int j = 0; j < scores.length; j++) {
            double probability = StrictMath.exp(scores[j] - max) / sum;
            left.addGradient(i, right, j, scale * (probability - (i == j ? 1 : 0)) / terms);
        }
        return StrictMath.log(sum) + max - scores[i];
    }

    /**
     * Computes the mean of {@code (cos(a_i, b_i) - label_i)^2}, as sentence-transformers' {@code CosineSimilarityLoss}. If the labels are
     * cosines of another encoder, the loss distills that encoder.
     *
     * @param a {@code [n, dim]}, floating-point
     * @param b a tensor of the same shape
     * @param labels one label for each pair, -1 to 1
     * @param aGradient a tensor of the same shape, written
     * @param bGradient a tensor of the same shape, written
     * @return the loss
     * @throws IllegalArgumentException if a shape, a type or a label does not fit; nothing is written
     */
    public double cosines(Tensor a, Tensor b, float[] labels, Tensor aGradient, Tensor bGradient) {
        Sides sides = new Sides(a, "a", b, "b");
        TensorChecks.requireShape(b, "b", a.shape());
        Checks.length(Checks.notNull(labels, "labels").length, a.dim(0), "labels", "one per pair");
        for (float label : labels) {
            if (!(label >= -1 && label <= 1)) {
                throw Checks.fail("labels", String.valueOf(label), "expected -1 to 1");
            }
        }
        sides.requireGradients(aGradient, "aGradient", bGradient, "bGradient");
        double loss = 0;
        for (int dim : dims(a)) {
            UnitRows left = sides.left(dim);
            UnitRows right = sides.right(dim);
            for (int i = 0; i < labels.length; i++) {
                double off = left.cosine(i, right, i) - labels[i];
                loss += off * off / labels.length;
                left.addGradient(i, right, i, 2 * off / labels.length);
            }
            sides.add(left, right);
        }
        return sides.write(loss, aGradient, bGradient);
    }

    /**
     * Computes the triplet loss (Schroff et al. 2015) with cosine distances: the mean of
     * {@code max(0, margin - cos(anchor_i, positive_i) + cos(anchor_i, negative_i))}.
     *
     * @param margin the required difference of the cosines, at least 0
     * @param anchors {@code [n, dim]}, floating-point
     * @param others {@code [2 n, dim]}: the positives, then the negatives
     * @param anchorGradient a tensor of the anchors' shape, written
     * @param otherGradient a tensor of the others' shape, written
     * @return the loss
     * @throws IllegalArgumentException if the margin, a shape or a type does not fit; nothing is written
     */
    public double triplets(double margin, Tensor anchors, Tensor others, Tensor anchorGradient, Tensor otherGradient) {
        Checks.finiteAtLeast(margin, 0, "margin");
        Sides sides = new Sides(anchors, "anchors", others, "others");
        Checks.length(others.dim(0), 2 * anchors.dim(0), "others", "a positive and a negative per anchor");
        sides.requireGradients(anchorGradient, "anchorGradient", otherGradient, "otherGradient");
        double loss = 0;
        for (int dim : dims(anchors)) {
            UnitRows left = sides.left(dim);
            UnitRows right = sides.right(dim);
            int n = left.rows();
            for (int i = 0; i < n; i++) {
                double off = margin - left.cosine(i, right, i) + left.cosine(i, right, n + i);
                if (off > 0) {
                    loss += off / n;
                    left.addGradient(i, right, i, -1.0 / n);
                    left.addGradient(i, right, n + i, 1.0 / n);
                }
            }
            sides.add(left, right);
        }
        return sides.write(loss, anchorGradient, otherGradient);
    }

    private int[] dims(Tensor vectors) {
        int columns = (int) vectors.dim(1);
        if (dims.length == 0) {
            return new int[] {columns};
        }
        for (int dim : dims) {
            if (dim > columns) {
                throw Checks.fail("sizes", String.valueOf(dim), "expected at most " + columns + ", as vectors have");
            }
        }
        return dims;
    }

    /** Two matrices of vectors, and the sums of their gradients over sizes. */
    private final class Sides {
        private final float[] left;
        private final float[] right;
        private final int columns;
        private final double[] leftSums;
        private final double[] rightSums;
        private final Tensor a;
        private final Tensor b;

        Sides(Tensor a, String aName, Tensor b, String bName) {
            this.a = a;
            this.b = b;
            left = UnitRows.values(a, aName);
            right = UnitRows.values(b, bName);
            columns = Checks.fitsInt(a.dim(1), aName);
            Checks.length(b.dim(1), columns, bName, "elements, as in " + aName);
            dims(a);
            leftSums = new double[left.length];
            rightSums = new double[right.length];
        }

        void requireGradients(Tensor ofA, String aName, Tensor ofB, String bName) {
            TensorChecks.requireShape(ofA, aName, a.shape());
            TensorChecks.requireShape(ofB, bName, b.shape());
            TensorChecks.requireFloating(ofA, aName);
            TensorChecks.requireFloating(ofB, bName);
            TensorChecks.requireOwnStorage(ofA, aName);
            TensorChecks.requireOwnStorage(ofB, bName);
            TensorChecks.requireApart(ofB, bName, ofA, aName);
        }

        UnitRows left(int dim) {
            return UnitRows.of(left, columns, dim);
        }

        UnitRows right(int dim) {
            return UnitRows.of(right, columns, dim);
        }

        void add(UnitRows ofLeft, UnitRows ofRight) {
            double factor = 1.0 / Math.max(1, dims.length);
            ofLeft.addTo(leftSums, columns, factor);
            ofRight.addTo(rightSums, columns, factor);
        }

        double write(double loss, Tensor ofA, Tensor ofB) {
            Tensor.of(leftSums, a.shape().toArray()).copyTo(ofA);
            Tensor.of(rightSums, b.shape().toArray()).copyTo(ofB);
            return loss / Math.max(1, dims.length);
        }
    }
}
