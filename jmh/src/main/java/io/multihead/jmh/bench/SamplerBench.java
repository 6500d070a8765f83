package io.multihead.jmh.bench;

import io.multihead.decoder.SamplerAccess;
import io.multihead.decoder.Sampling;
import java.util.PriorityQueue;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * The choice of a token from the logits of a vocabulary, which are normally distributed with a deviation of 2.5. The
 * control copies the logits, which every choice with a temperature must do.
 */
public class SamplerBench extends Timed {
    private static final double DEVIATION = 2.5;
    private static final int TOP_K = 64;

    @Param({"262144", "151936"})
    public int vocabulary;

    /** {@code filters} has top-k 64, top-p 0.95 and min-p 0.05. {@code top-p} keeps some 21,000 tokens of 262,144. */
    @Param({"greedy", "temperature", "filters", "min-p", "top-p"})
    public String sampling;

    private float[] logits = {};
    private float[] copy = {};
    private SamplerAccess sampler;
    private Sampling options = Sampling.GREEDY;
    private long index;

    @Setup(Level.Trial)
    public void open() {
        Random random = new Random(1);
        logits = new float[vocabulary];
        copy = new float[vocabulary];
        for (int id = 0; id < vocabulary; id++) {
            logits[id] = (float) (DEVIATION * random.nextGaussian());
        }
        sampler = new SamplerAccess(vocabulary);
        Sampling warm = Sampling.of(0.8, 1);
        options = switch (sampling) {
            case "greedy" -> Sampling.GREEDY;
            case "temperature" -> warm;
            case "filters" -> warm.withTopK(TOP_K).withTopP(0.95).withMinP(0.05);
            case "min-p" -> warm.withMinP(0.05);
            case "top-p" -> warm.withTopP(0.95);
            default -> throw new IllegalArgumentException("sampling: " + sampling);
        };
    }

    @Benchmark
    public int multihead() {
        return sampler.choose(logits, options, index++);
    }

    @Benchmark
    public float[] control() {
        System.arraycopy(logits, 0, copy, 0, vocabulary);
        return copy;
    }

    /** Finds the most probable tokens in plain Java, without probabilities. */
    @Benchmark
    public int scalar() {
        PriorityQueue<Integer> best = new PriorityQueue<>((a, b) -> Float.compare(logits[a], logits[b]));
        for (int id = 0; id < vocabulary; id++) {
            if (best.size() < TOP_K) {
                best.add(id);
            } else if (logits[id] > logits[best.peek()]) {
                best.poll();
                best.add(id);
            }
        }
        return best.peek();
    }
}
