package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An expression, which has a value. */
sealed interface Expression {
    /**
     * The arguments of a call, a filter or a test.
     *
     * @param positional the positional arguments in their order
     * @param named the named arguments by name
     */
    record Arguments(List<Expression> positional, Map<String, Expression> named) {
        static final Arguments NONE = new Arguments(List.of(), Map.of());
    }

    /**
     * A filter or a test with its arguments.
     *
     * @param name the name of the filter or test
     * @param arguments the arguments after the value
     */
    record Use(String name, Arguments arguments) {}

    /** A constant. */
    record Literal(Object value) implements Expression {
        static Literal text(String text) {
            return new Literal(PromptText.template(text));
        }
    }

    /** A variable. */
    record Name(String name) implements Expression {}

    /** {@code target.name}. */
    record Attribute(Expression target, String name) implements Expression {}

    /** {@code target[index]}. */
    record Subscript(Expression target, Expression index) implements Expression {}

    /** {@code target[from:to:step]}. */
    record Slice(
            Expression target,
            @Nullable Expression from,
            @Nullable Expression to,
            @Nullable Expression step) implements Expression {}

    /** {@code name(...)}. */
    record Call(Name callee, Arguments arguments) implements Expression {}

    /** {@code target.name(...)}. */
    record MethodCall(Expression target, String name, Arguments arguments) implements Expression {}

    /** {@code target|use}. */
    record Filtered(Expression target, Use use) implements Expression {}

    /** {@code target is use}, or {@code is not}. */
    record Tested(Expression target, Use use, boolean negated) implements Expression {}

    /** {@code not}, {@code -} or {@code +}. */
    record Unary(String operator, Expression operand) implements Expression {}

    /** Arithmetic, {@code ~}, {@code and} or {@code or}. */
    record Binary(String operator, Expression left, Expression right) implements Expression {}

    /**
     * A part of a comparison.
     *
     * @param operator a comparison, {@code ==}, {@code !=}, {@code in} or {@code not in}
     * @param right the other operand
     */
    record Comparison(String operator, Expression right) {}

    /** {@code first < second < third}. */
    record Compared(Expression first, List<Comparison> rest) implements Expression {}

    /** {@code value if test else otherwise}. */
    record Conditional(
            Expression value, Expression test, @Nullable Expression otherwise) implements Expression {}

    /** A list or a tuple. */
    record Listed(List<Expression> elements, boolean tuple) implements Expression {}

    /** A mapping. */
    record Mapped(List<Expression> keys, List<Expression> values) implements Expression {}
}
