package io.multihead.internal.load;

import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A tensor as its source stores it: numbers, or quantized blocks.
 *
 * @param numbers null if there are blocks
 * @param blocks null if there are numbers
 */
public record StoredWeight(
        @Nullable Tensor numbers, @Nullable BlockTensor blocks) {
    public static StoredWeight of(Tensor numbers) {
        return new StoredWeight(numbers, null);
    }

    public static StoredWeight of(BlockTensor blocks) {
        return new StoredWeight(null, blocks);
    }

    public Shape shape() {
        return blocks != null ? blocks.shape() : plain().shape();
    }

    long bytes() {
        return blocks != null
                ? blocks.bytes()
                : plain().shape().elements() * plain().dtype().bytes();
    }

    boolean isMapped() {
        return (blocks != null ? blocks.memory() : plain().memory()).isMapped();
    }

    /** Returns whether elements are floating-point numbers, in blocks or not. */
    boolean isFloating() {
        return blocks != null || plain().dtype().isFloating();
    }

    /** Returns the format that holds the elements; f64 is rounded to f32. */
    WeightFormat format() {
        if (blocks != null) {
            return WeightFormat.of(blocks.type());
        }
        return switch (plain().dtype()) {
            case F32, F64 -> WeightFormat.F32;
            case BF16 -> WeightFormat.BF16;
            case F16 -> WeightFormat.F16;
            case I8 -> throw Checks.fail("type", "I8", "expected floating numbers or blocks");
        };
    }

    /** Returns one of several matrices. */
    StoredWeight select(long index) {
        return blocks != null ? of(blocks.select(index)) : of(plain().select(0, index));
    }

    StoredWeight rows(long from, long to) {
        return blocks != null ? of(blocks.slice(from, to)) : of(plain().slice(0, from, to));
    }

    /** Returns the elements as numbers: in place, or dequantized in memory of an arena. */
    Tensor numbers(Arena arena) {
        if (blocks == null) {
            return plain();
        }
        Tensor widened = Tensor.allocate(arena, DType.F32, blocks.shape());
        blocks.dequantize(widened);
        return widened;
    }

    /** Releases mapped pages from this process's memory after they were copied. */
    void release() {
        if (blocks != null) {
            FileMemory.release(blocks.memory(), blocks.offset(), blocks.bytes());
        } else if (plain().isDense()) {
            int bytes = plain().dtype().bytes();
            FileMemory.release(
                    plain().memory(), plain().offset() * bytes, plain().shape().elements() * bytes);
        }
    }

    /** Returns weights {@code [outputs, inputs]} of equal sizes as one matrix, stacked in their order. Rows of the file are copied whole. */
    static StoredWeight concatenated(List<StoredWeight> parts, Arena arena) {
        StoredWeight first = parts.getFirst();
        long outputs = parts.size() * first.shape().dim(0);
        long inputs = first.shape().dim(1);
        boolean alike = parts.stream().map(StoredWeight::format).distinct().count() == 1;
        if (alike && first.blocks != null) {
            MemorySegment all = arena.allocate(parts.size() * first.bytes());
            long at = 0;
            for (StoredWeight part : parts) {
                BlockTensor own = Checks.notNull(part.blocks, "blocks");
                MemorySegment.copy(own.memory(), own.offset(), all, at, own.bytes());
                at += own.bytes();
            }
            return of(BlockTensor.view(all, first.blocks.type(), Shape.of(outputs, inputs), 0));
        }
        List<Tensor> numbers = parts.stream().map(part -> part.numbers(arena)).toList();
        DType dtype =
                alike && first.plain().dtype() != DType.F64 ? first.plain().dtype() : DType.F32;
        if (numbers.getFirst().stride(1) == 1) {
            Tensor all = Tensor.allocate(arena, dtype, Shape.of(outputs, inputs));
            Tensor.concat(0, all, numbers.toArray(Tensor[]::new));
            return of(all);
        }
        Tensor transposed = Tensor.allocate(arena, dtype, Shape.of(inputs, outputs));
        Tensor.concat(
                1, transposed, numbers.stream().map(part -> part.permute(1, 0)).toArray(Tensor[]::new));
        return of(transposed.permute(1, 0));
    }

    /** Returns the numbers of a tensor without blocks. */
    public Tensor plain() {
        return Checks.notNull(numbers, "numbers");
    }

    @Override
    public String toString() {
        return String.valueOf(blocks != null ? blocks : numbers);
    }
}
