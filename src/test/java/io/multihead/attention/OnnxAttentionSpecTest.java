package io.multihead.attention;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every mode of the ONNX operator Attention, opsets 23 to 25, written as in docs/reference/layer-options.md, is compared with the
 * operator's formulas. Each case is checked with the four modes of {@code qk_matmul_output_mode}.
 */
class OnnxAttentionSpecTest {
    private static final Compute CPU = Compute.serial();

    @ParameterizedTest
    @EnumSource(names = {"F32", "F64", "F16", "BF16"})
    void queriesKeysAndValuesOfFourAxes(DType dtype) {
        OnnxAttentionCall.of(4, 6).dtype(dtype).check();
        OnnxAttentionCall.of(4, 6)
                .dtype(dtype)
                .softCap(1.5)
                .bias(4, 4, 6)
                .causal()
                .check();
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "F64", "F16", "BF16"})
    void queriesKeysAndValuesOfThreeAxes(DType dtype) {
        OnnxAttentionCall.of(4, 6).dtype(dtype).threeAxes().check();
        OnnxAttentionCall.of(4, 4)
                .dtype(dtype)
                .threeAxes()
                .heads(6, 2)
                .past(3)
                .causal()
                .check();
    }

    @ParameterizedTest
    @CsvSource({"4, 4", "6, 2", "6, 3", "4, 1"})
    void headsAreSharedInGroups(int heads, int keyValueHeads) {
        OnnxAttentionCall.of(3, 5).heads(heads, keyValueHeads).check();
        OnnxAttentionCall.of(3, 5)
                .heads(heads, keyValueHeads)
                .threeAxes()
                .causal()
                .check();
    }

    @Test
    void valuesMayBeOfAnotherSize() {
        OnnxAttentionCall.of(4, 6).dims(8, 5).check();
        OnnxAttentionCall.of(4, 6).dims(8, 11).threeAxes().check();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.01, 0.5, 1, 3})
    void scaleIsGiven(double scale) {
        OnnxAttentionCall.of(4, 6).scale(scale).check();
        OnnxAttentionCall.of(4, 6).scale(scale).softCap(2).check();
    }

    /** Without a past, query 0 is at position 0 for any number of keys. */
    @ParameterizedTest
    @CsvSource({"4, 4", "4, 6", "6, 4", "1, 5"})
    void causalWithoutPast(int queries, int keys) {
        OnnxAttentionCall.of(queries, keys).causal().check();
        OnnxAttentionCall.of(queries, keys).causal().softCap(1).check();
    }

    /** Query 0 is at the position after the past, even if the numbers of keys and queries differ. */
    @ParameterizedTest
    @CsvSource({"4, 4, 3", "1, 1, 7", "2, 5, 4", "5, 2, 3", "3, 3, 300"})
    void past(int queries, int keys, int past) {
        OnnxAttentionCall.of(queries, keys).past(past).check();
        OnnxAttentionCall.of(queries, keys).past(past).causal().check();
        OnnxAttentionCall.of(queries, keys)
                .past(past)
                .causal()
                .bias(queries, past + keys)
                .check();
    }

    /** In the static cache of opset 24, tokens beyond a length are padding, and the last query is at the last key before the padding. */
    @ParameterizedTest
    @CsvSource({"3, 6, 6, 3", "3, 6, 4, 5", "1, 9, 1, 8", "3, 6, 2, 0"})
    void lengths(int queries, int keys, int first, int second) {
        OnnxAttentionCall.of(queries, keys).lengths(first, second).check();
        OnnxAttentionCall.of(queries, keys).lengths(first, second).causal().check();
        OnnxAttentionCall.of(queries, keys).lengths(first, second).softCap(0.7).check();
        OnnxAttentionCall.of(queries, keys)
                .lengths(first, second)
                .causal()
                .flags(2, 1, 1, keys)
                .check();
    }

    @Test
    void booleanMasks() {
        OnnxAttentionCall.of(4, 6).flags(4, 6).check();
        OnnxAttentionCall.of(4, 6).flags(1, 6).check();
        OnnxAttentionCall.of(4, 6).flags(6, 4, 6).heads(6, 3).check();
        OnnxAttentionCall.of(4, 6).flags(1, 4, 6).check();
        OnnxAttentionCall.of(4, 6).flags(2, 4, 4, 6).check();
        OnnxAttentionCall.of(4, 6).flags(2, 1, 4, 6).check();
        OnnxAttentionCall.of(4, 6).flags(1, 4, 1, 6).causal().check();
    }

    @Test
    void floatMasks() {
        OnnxAttentionCall.of(4, 6).bias(4, 6).check();
        OnnxAttentionCall.of(4, 6).bias(1, 6).check();
        OnnxAttentionCall.of(4, 6).bias(6, 4, 6).heads(6, 3).check();
        OnnxAttentionCall.of(4, 6).bias(1, 4, 6).check();
        OnnxAttentionCall.of(4, 6).bias(2, 4, 4, 6).check();
        OnnxAttentionCall.of(4, 6).bias(2, 1, 4, 6).dtype(DType.F16).check();
        OnnxAttentionCall.of(4, 6).bias(1, 4, 1, 6).causal().check();
    }

    /** The last axis of a mask may be shorter than the keys. The remaining keys are hidden. */
    @Test
    void masksShorterThanTheKeys() {
        OnnxAttentionCall.of(4, 6).flags(4, 4).check();
        OnnxAttentionCall.of(4, 6).bias(4, 5).check();
        OnnxAttentionCall.of(4, 6).flags(4, 4, 3).causal().check();
        OnnxAttentionCall.of(4, 6).bias(2, 1, 4, 5).lengths(5, 3).causal().check();
        OnnxAttentionCall.of(3, 2).past(4).bias(3, 5).causal().check();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.3, 1, 20})
    void softCap(double cap) {
        OnnxAttentionCall.of(4, 6).softCap(cap).check();
        OnnxAttentionCall.of(4, 6).softCap(cap).flags(4, 6).check();
        OnnxAttentionCall.of(4, 6).softCap(cap).bias(4, 6).check();
        OnnxAttentionCall.of(2, 3).softCap(cap).past(4).causal().check();
    }

    /** Windows of opset 25. A side of -1 is unbounded. */
    @ParameterizedTest
    @CsvSource({"2, 0", "0, 0", "1, 2", "-1, 1", "3, -1"})
    void windows(int left, int right) {
        OnnxAttentionCall.of(5, 7).window(left, right).check();
        OnnxAttentionCall.of(7, 4).window(left, right).check();
        OnnxAttentionCall.of(3, 3).window(left, right).past(5).causal().check();
        OnnxAttentionCall.of(3, 9).window(left, right).lengths(9, 4).check();
        OnnxAttentionCall.of(3, 9)
                .window(left, right)
                .lengths(7, 2)
                .causal()
                .bias(3, 9)
                .softCap(2)
                .check();
    }

    /** For a query that sees no key, the formula is 0 / 0, and the output and the weights are 0. */
    @Test
    void queriesWithoutKeys() {
        OnnxAttentionCall.of(4, 6).lengths(0, 2).causal().check();
        OnnxAttentionCall.of(6, 2).window(0, 0).check();
    }

    @Test
    void everythingAtOnce() {
        OnnxAttentionCall.of(5, 5)
                .heads(6, 2)
                .dims(16, 9)
                .threeAxes()
                .dtype(DType.BF16)
                .past(290)
                .causal()
                .window(270, -1)
                .flags(2, 6, 5, 293)
                .softCap(1.2)
                .scale(0.4)
                .check();
    }

    /** If scores are not requested, a slice of the keys can replace a padded mask: it ends where the short mask ends. */
    @Test
    void aSliceOfTheKeysEndsWhereAShortMaskDoes() {
        OnnxAttentionCall call = OnnxAttentionCall.of(4, 6).bias(4, 4);
        call.checkOutput(call.output(
                call.present(true).slice(2, 0, 4), call.present(false).slice(2, 0, 4), 4));
    }

    /** A cache holds past and present, and a view of lengths is a static cache. */
    @Test
    void otherStorages() {
        OnnxAttentionCall past = OnnxAttentionCall.of(3, 3).heads(4, 2).past(5).causal();
        KeyValueCache cache = KeyValueCache.contiguous(KeyValueCache.Config.of(1, 2, 8), 2, 8);
        for (long[] part : new long[][] {{0, 5}, {5, 8}}) {
            Tensor key = past.present(true).slice(2, part[0], part[1]);
            cache.append(CPU, 0, new int[] {0, 1}, key, past.present(false).slice(2, part[0], part[1]));
        }
        past.checkOutput(past.output(cache.view(0, 0, 1)));
        OnnxAttentionCall lengths = OnnxAttentionCall.of(3, 6).lengths(4, 6).causal();
        lengths.checkOutput(lengths.output(KeyValueView.of(lengths.present(true), lengths.present(false), 4, 6)));
    }
}
