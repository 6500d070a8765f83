package io.multihead.internal.template;

import io.multihead.internal.template.Expression.Arguments;
import io.multihead.internal.template.Expression.Use;
import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Computes the values of expressions. */
final class Evaluator {
    private final Budget budget;
    private final Access access;
    private final Filters filters;
    private final Methods methods;

    Evaluator(Budget budget) {
        this.budget = budget;
        access = new Access(budget);
        filters = new Filters(budget, access);
        methods = new Methods(budget);
    }

    Object value(Expression expression, Scope scope) {
        budget.enter();
        Object value =
                switch (expression) {
                    case Expression.Literal literal -> literal.value();
                    case Expression.Name name -> scope.get(name.name());
                    case Expression.Attribute attribute -> attribute(attribute, scope);
                    case Expression.Subscript subscript ->
                        access.item(value(subscript.target(), scope), value(subscript.index(), scope));
                    case Expression.Slice slice ->
                        access.slice(
                                value(slice.target(), scope),
                                optional(slice.from(), scope),
                                optional(slice.to(), scope),
                                optional(slice.step(), scope));
                    case Expression.Call call -> call(call, scope);
                    case Expression.MethodCall call -> method(call, scope);
                    case Expression.Filtered filtered -> filter(value(filtered.target(), scope), filtered.use(), scope);
                    case Expression.Tested tested -> test(tested, scope);
                    case Expression.Unary unary -> unary(unary.operator(), value(unary.operand(), scope));
                    case Expression.Binary binary -> binary(binary, scope);
                    case Expression.Compared compared -> compared(compared, scope);
                    case Expression.Conditional conditional -> conditional(conditional, scope);
                    case Expression.Listed listed -> {
                        List<Object> elements = values(listed.elements(), scope);
                        yield listed.tuple() ? Items.tuple(elements) : Items.list(elements);
                    }
                    case Expression.Mapped mapped -> mapping(mapped, scope);
                };
        budget.leave();
        return value;
    }

    boolean isTrue(Expression expression, Scope scope) {
        return Values.isTrue(value(expression, scope));
    }

    private Object attribute(Expression.Attribute attribute, Scope scope) {
        return Access.attribute(value(attribute.target(), scope), attribute.name());
    }

    private Object optional(@Nullable Expression expression, Scope scope) {
        return expression == null ? Special.ABSENT : value(expression, scope);
    }

    private List<Object> values(List<Expression> expressions, Scope scope) {
        List<Object> values = new ArrayList<>(expressions.size());
        for (Expression each : expressions) {
            values.add(value(each, scope));
        }
        return values;
    }

    private Map<String, Object> named(Arguments arguments, Scope scope) {
        Map<String, Object> named = new LinkedHashMap<>();
        arguments.named().forEach((name, each) -> named.put(name, value(each, scope)));
        return named;
    }

    private Object call(Expression.Call call, Scope scope) {
        Object callee = value(call.callee(), scope);
        if (callee instanceof Undefined undefined) {
            throw undefined.fault();
        }
        if (!(callee instanceof Callable function)) {
            throw new Fault(
                    "a call of " + Values.type(callee) + " " + call.callee().name() + "; expected a function");
        }
        return function.call(values(call.arguments().positional(), scope), named(call.arguments(), scope));
    }

    private Object method(Expression.MethodCall call, Scope scope) {
        Object target = value(call.target(), scope);
        List<Object> positional = values(call.arguments().positional(), scope);
        Map<String, Object> named = named(call.arguments(), scope);
        Signature signature = Signature.METHODS.get(call.name());
        if (signature == null) {
            throw new Fault("method " + call.name() + " is not implemented");
        }
        return methods.call(target, call.name(), signature.bind(positional, named));
    }

    Object filter(Object value, Use use, Scope scope) {
        return filters.apply(
                use.name(), value, values(use.arguments().positional(), scope), named(use.arguments(), scope));
    }

    private boolean test(Expression.Tested tested, Scope scope) {
        Object value = value(tested.target(), scope);
        Signature signature = Signature.TESTS.get(tested.use().name());
        if (signature == null) {
            throw new Fault("test " + tested.use().name() + " is not implemented");
        }
        Arguments arguments = tested.use().arguments();
        List<Object> bound = signature.bind(values(arguments.positional(), scope), named(arguments, scope));
        return Tests.test(signature.name(), value, bound, budget) != tested.negated();
    }

    private static Object unary(String operator, Object operand) {
        if (operator.equals("not")) {
            return !Values.isTrue(operand);
        }
        requireNumbers(operator, operand, operand);
        if (operator.equals("+")) {
            return operand instanceof Double ? operand : (Object) Values.whole(operand);
        }
        return operand instanceof Double real ? -real : (Object) Math.negateExact(Values.whole(operand));
    }

    private Object binary(Expression.Binary binary, Scope scope) {
        Object left = value(binary.left(), scope);
        switch (binary.operator()) {
            case "and" -> {
                return Values.isTrue(left) ? value(binary.right(), scope) : left;
            }
            case "or" -> {
                return Values.isTrue(left) ? left : value(binary.right(), scope);
            }
            default -> {
                return arithmetic(binary.operator(), left, value(binary.right(), scope));
            }
        }
    }

    private Object arithmetic(String operator, Object left, Object right) {
        if (operator.equals("~")) {
            return budget.made(Values.text(left, budget).plus(Values.text(right, budget)));
        }
        if (operator.equals("+") && left instanceof PromptText text && right instanceof PromptText more) {
            budget.takeCharacters((long) text.length() + more.length());
            return text.plus(more);
        }
        if (operator.equals("+") && left instanceof Items list && right instanceof Items more) {
            return concatenated(list, more);
        }
        if (operator.equals("*") && left instanceof PromptText text && right instanceof Long count) {
            return Texts.repeat(text, count, budget);
        }
        if (operator.equals("*") && left instanceof Long count && right instanceof PromptText text) {
            return Texts.repeat(text, count, budget);
        }
        requireNumbers(operator, left, right);
        try {
            return left instanceof Double || right instanceof Double || operator.equals("/")
                    ? real(operator, Values.real(left), Values.real(right))
                    : whole(operator, Values.whole(left), Values.whole(right));
        } catch (ArithmeticException overflow) {
            throw new Fault(left + " " + operator + " " + right + "; expected less than 2^63");
        }
    }

    private Object concatenated(Items left, Items right) {
        if (!left.isSequence() || left.kind() != right.kind()) {
            throw new Fault(Values.type(left) + " + " + Values.type(right) + "; expected two lists");
        }
        budget.take((long) left.elements().size() + right.elements().size());
        List<Object> all = new ArrayList<>(left.elements());
        all.addAll(right.elements());
        return left.kind() == Items.Kind.LIST ? Items.list(all) : Items.tuple(all);
    }

    private static void requireNumbers(String operator, Object left, Object right) {
        for (Object each : List.of(left, right)) {
            if (each instanceof Undefined undefined) {
                throw undefined.fault();
            }
        }
        if (!Values.isNumber(left) || !Values.isNumber(right)) {
            String expected = operator.equals("+") ? "two numbers, strings or lists" : "numbers";
            throw new Fault(Values.type(left) + " " + operator + " " + Values.type(right) + "; expected " + expected);
        }
    }

    private static Object whole(String operator, long left, long right) {
        boolean divides = operator.equals("//") || operator.equals("%");
        if (divides && right == 0) {
            throw new Fault("a division by 0");
        }
        return switch (operator) {
            case "+" -> Math.addExact(left, right);
            case "-" -> Math.subtractExact(left, right);
            case "*" -> Math.multiplyExact(left, right);
            case "//" -> Math.floorDivExact(left, right);
            case "%" -> Math.floorMod(left, right);
            default -> {
                if (right < 0) {
                    yield StrictMath.pow(left, right);
                }
                yield java.math.BigInteger.valueOf(left)
                        .pow((int) Math.min(right, left == 0 || Math.abs(left) == 1 ? right & 1 : Long.SIZE))
                        .longValueExact();
            }
        };
    }

    private static Object real(String operator, double left, double right) {
        if (right == 0 && (operator.equals("/") || operator.equals("//") || operator.equals("%"))) {
            throw new Fault("a division by 0");
        }
        return switch (operator) {
            case "+" -> left + right;
            case "-" -> left - right;
            case "*" -> left * right;
            case "/" -> left / right;
            case "//" -> Math.floor(left / right);
            case "%" -> left - right * Math.floor(left / right);
            default -> StrictMath.pow(left, right);
        };
    }

    private boolean compared(Expression.Compared compared, Scope scope) {
        Object left = value(compared.first(), scope);
        for (Expression.Comparison each : compared.rest()) {
            Object right = value(each.right(), scope);
            if (!compare(each.operator(), left, right)) {
                return false;
            }
            left = right;
        }
        return true;
    }

    private boolean compare(String operator, Object left, Object right) {
        return switch (operator) {
            case "==" -> Values.same(left, right, budget);
            case "!=" -> !Values.same(left, right, budget);
            case "in" -> Values.contains(right, left, budget);
            case "not in" -> !Values.contains(right, left, budget);
            case "<" -> Values.compare(left, right, budget) < 0;
            case "<=" -> Values.compare(left, right, budget) <= 0;
            case ">" -> Values.compare(left, right, budget) > 0;
            default -> Values.compare(left, right, budget) >= 0;
        };
    }

    private Object conditional(Expression.Conditional conditional, Scope scope) {
        if (isTrue(conditional.test(), scope)) {
            return value(conditional.value(), scope);
        }
        return conditional.otherwise() == null
                ? new Undefined("a conditional expression without else")
                : value(conditional.otherwise(), scope);
    }

    private Dict mapping(Expression.Mapped mapped, Scope scope) {
        Dict dict = new Dict();
        for (int i = 0; i < mapped.keys().size(); i++) {
            dict.put(
                    Methods.text(value(mapped.keys().get(i), scope)),
                    value(mapped.values().get(i), scope));
        }
        return dict;
    }
}
