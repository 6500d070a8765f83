package io.multihead.internal.template;

import io.multihead.internal.template.Expression.Arguments;
import io.multihead.internal.template.Expression.Comparison;
import io.multihead.internal.template.Expression.Use;
import io.multihead.internal.template.Token.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads expressions with Jinja's operator precedence, and refuses features that are not implemented. */
final class ExpressionParser {
    private static final int DEEPEST = 60;
    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", "<=", ">", ">=");
    private static final Set<String> LOOP =
            Set.of("index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem");
    /** Names that Jinja gives macros. */
    private static final Set<String> OF_MACROS = Set.of("varargs", "kwargs", "caller", "super", "self");

    private final TokenReader tokens;
    /** The lines of calls, by the names of the callees. */
    private final Map<String, Integer> called = new LinkedHashMap<>();

    private int depth;

    ExpressionParser(TokenReader tokens) {
        this.tokens = tokens;
    }

    /** Returns the line of the first call of each name. */
    Map<String, Integer> called() {
        return called;
    }

    /** Reads one expression, or several with commas between them, which form a tuple. */
    Expression tuple(boolean conditional) {
        Expression first = conditional ? expression() : or();
        if (!tokens.isOperator(",")) {
            return first;
        }
        List<Expression> elements = new ArrayList<>(List.of(first));
        while (tokens.skip(",")) {
            if (tokens.endsTuple()) {
                break;
            }
            elements.add(conditional ? expression() : or());
        }
        return new Expression.Listed(elements, true);
    }

    Expression expression() {
        if (++depth > DEEPEST) {
            throw tokens.fail("an expression nested deeper than " + DEEPEST);
        }
        Expression value = or();
        while (tokens.skipName("if")) {
            Expression test = or();
            Expression otherwise = tokens.skipName("else") ? expression() : null;
            value = new Expression.Conditional(value, test, otherwise);
        }
        depth--;
        return value;
    }

    private Expression or() {
        Expression left = and();
        while (tokens.skipName("or")) {
            left = new Expression.Binary("or", left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (tokens.skipName("and")) {
            left = new Expression.Binary("and", left, not());
        }
        return left;
    }

    private Expression not() {
        int count = 0;
        while (tokens.skipName("not")) {
            count++;
        }
        Expression operand = compared();
        for (int i = 0; i < count; i++) {
            operand = new Expression.Unary("not", operand);
        }
        return operand;
    }

    private Expression compared() {
        Expression first = sum();
        List<Comparison> rest = new ArrayList<>();
        while (true) {
            String operator = tokens.operator();
            if (COMPARISONS.contains(operator)) {
                tokens.next();
                rest.add(new Comparison(operator, sum()));
            } else if (tokens.skipName("in")) {
                rest.add(new Comparison("in", sum()));
            } else if (tokens.isName("not") && tokens.isNameAfter("in")) {
                tokens.next();
                tokens.next();
                rest.add(new Comparison("not in", sum()));
            } else {
                return rest.isEmpty() ? first : new Expression.Compared(first, rest);
            }
        }
    }

    private Expression sum() {
        Expression left = joined();
        while (tokens.isOperator("+") || tokens.isOperator("-")) {
            String operator = tokens.next().text();
            left = new Expression.Binary(operator, left, joined());
        }
        return left;
    }

    private Expression joined() {
        Expression left = product();
        while (tokens.skip("~")) {
            left = new Expression.Binary("~", left, product());
        }
        return left;
    }

    private Expression product() {
        Expression left = power();
        while (Set.of("*", "/", "//", "%").contains(tokens.operator())) {
            String operator = tokens.next().text();
            left = new Expression.Binary(operator, left, power());
        }
        return left;
    }

    private Expression power() {
        Expression left = unary(true);
        while (tokens.skip("**")) {
            left = new Expression.Binary("**", left, unary(true));
        }
        return left;
    }

    private Expression unary(boolean filtered) {
        List<String> signs = new ArrayList<>();
        while (tokens.isOperator("-") || tokens.isOperator("+")) {
            signs.addFirst(tokens.next().text());
        }
        Expression operand = postfix(primary());
        for (String sign : signs) {
            operand = new Expression.Unary(sign, operand);
        }
        return filtered ? filters(operand) : operand;
    }

    private Expression primary() {
        Token token = tokens.next();
        switch (token.kind()) {
            case STRING -> {
                StringBuilder text = new StringBuilder(token.text());
                while (tokens.isKind(Kind.STRING)) {
                    text.append(tokens.next().text());
                }
                return Expression.Literal.text(text.toString());
            }
            case INTEGER -> {
                return new Expression.Literal(integer(token));
            }
            case FLOAT -> {
                return new Expression.Literal(Double.valueOf(token.text()));
            }
            case NAME -> {
                return name(token);
            }
            default -> {
                return bracketed(token);
            }
        }
    }

    private long integer(Token token) {
        try {
            return Long.parseLong(token.text());
        } catch (NumberFormatException tooLarge) {
            throw new Fault("integer " + token.text() + "; expected less than 2^63").at(token.line());
        }
    }

    private Expression name(Token token) {
        return switch (token.text()) {
            case "true", "True" -> new Expression.Literal(true);
            case "false", "False" -> new Expression.Literal(false);
            case "none", "None" -> new Expression.Literal(Special.NONE);
            default -> {
                if (OF_MACROS.contains(token.text())) {
                    throw new Fault("\"" + token.text() + "\" is not implemented").at(token.line());
                }
                yield new Expression.Name(token.text());
            }
        };
    }

    private Expression bracketed(Token open) {
        if (open.is(Kind.OPERATOR, "(")) {
            if (tokens.skip(")")) {
                return new Expression.Listed(List.of(), true);
            }
            Expression inside = tuple(true);
            tokens.expect(")");
            return inside;
        }
        if (open.is(Kind.OPERATOR, "[")) {
            List<Expression> elements = new ArrayList<>();
            while (!tokens.skip("]")) {
                elements.add(expression());
                if (!tokens.isOperator("]")) {
                    tokens.expect(",");
                }
            }
            return new Expression.Listed(elements, false);
        }
        if (open.is(Kind.OPERATOR, "{")) {
            List<Expression> keys = new ArrayList<>();
            List<Expression> values = new ArrayList<>();
            while (!tokens.skip("}")) {
                keys.add(expression());
                tokens.expect(":");
                values.add(expression());
                if (!tokens.isOperator("}")) {
                    tokens.expect(",");
                }
            }
            return new Expression.Mapped(keys, values);
        }
        throw new Fault(open.described() + "; expected an expression").at(open.line());
    }

    private Expression postfix(Expression first) {
        Expression target = first;
        while (true) {
            int line = tokens.line();
            if (tokens.skip(".")) {
                target = tokens.isKind(Kind.INTEGER)
                        ? new Expression.Subscript(target, new Expression.Literal(integer(tokens.next())))
                        : attribute(target, tokens.name());
            } else if (tokens.skip("[")) {
                target = subscript(target);
                tokens.expect("]");
            } else if (tokens.isOperator("(")) {
                target = call(target, line);
            } else {
                return target;
            }
        }
    }

    private Expression attribute(Expression target, String name) {
        boolean loop =
                target instanceof Expression.Name variable && variable.name().equals("loop");
        if (loop && !LOOP.contains(name)) {
            throw tokens.fail("loop." + name + " is not implemented");
        }
        return new Expression.Attribute(target, name);
    }

    private Expression subscript(Expression target) {
        Expression from = tokens.isOperator(":") ? null : tuple(true);
        if (from != null && !tokens.isOperator(":")) {
            return new Expression.Subscript(target, from);
        }
        tokens.expect(":");
        Expression to = tokens.isOperator(":") || tokens.isOperator("]") ? null : expression();
        Expression step = tokens.skip(":") && !tokens.isOperator("]") ? expression() : null;
        return new Expression.Slice(target, from, to, step);
    }

    private Expression call(Expression target, int line) {
        switch (target) {
            case Expression.Name name -> {
                called.putIfAbsent(name.name(), line);
                Arguments arguments = arguments();
                Signature signature = Signature.FUNCTIONS.get(name.name());
                if (signature != null) {
                    check(signature, arguments, "function", line);
                }
                return new Expression.Call(name, arguments);
            }
            case Expression.Attribute attribute -> {
                Arguments arguments = arguments();
                check(Signature.METHODS.get(attribute.name()), arguments, "method " + attribute.name(), line);
                return new Expression.MethodCall(attribute.target(), attribute.name(), arguments);
            }
            default -> throw new Fault("a call of an expression is not implemented").at(line);
        }
    }

    private static void check(@Nullable Signature signature, Arguments arguments, String what, int line) {
        if (signature == null) {
            throw new Fault(what + " is not implemented").at(line);
        }
        String complaint = signature.complaint(
                arguments.positional().size(), arguments.named().keySet());
        if (complaint != null) {
            throw new Fault(complaint).at(line);
        }
    }

    private Arguments arguments() {
        tokens.expect("(");
        List<Expression> positional = new ArrayList<>();
        Map<String, Expression> named = new LinkedHashMap<>();
        while (!tokens.skip(")")) {
            if (tokens.isOperator("*") || tokens.isOperator("**")) {
                throw tokens.fail(tokens.operator() + " before an argument is not implemented");
            }
            if (tokens.isKind(Kind.NAME) && tokens.isOperatorAfter("=")) {
                String name = tokens.name();
                tokens.expect("=");
                named.put(name, expression());
            } else if (named.isEmpty()) {
                positional.add(expression());
            } else {
                throw tokens.fail("an argument without a name after one with a name");
            }
            if (!tokens.isOperator(")")) {
                tokens.expect(",");
            }
        }
        return new Arguments(positional, named);
    }

    private Expression filters(Expression first) {
        Expression target = first;
        while (true) {
            int line = tokens.line();
            if (tokens.skip("|")) {
                target = new Expression.Filtered(target, filter());
            } else if (tokens.skipName("is")) {
                target = tested(target, line);
            } else if (tokens.isOperator("(")) {
                target = call(target, line);
            } else {
                return target;
            }
        }
    }

    /** Reads the filter after its bar. */
    Use filter() {
        int line = tokens.line();
        String name = tokens.name();
        Arguments arguments = tokens.isOperator("(") ? arguments() : Arguments.NONE;
        check(Signature.FILTERS.get(name), arguments, "filter " + name, line);
        if (Set.of("map", "select", "reject", "selectattr", "rejectattr").contains(name)) {
            checkUsed(name, arguments, line);
        }
        return new Use(name, arguments);
    }

    /** Fails if a filter names another filter or a test that is not implemented. */
    private static void checkUsed(String name, Arguments arguments, int line) {
        int index = name.endsWith("attr") ? 1 : 0;
        for (String named : arguments.named().keySet()) {
            if (!name.equals("map") || !named.equals("attribute") && !named.equals("default")) {
                throw new Fault(name + " with an argument " + named + " is not implemented").at(line);
            }
        }
        if (arguments.positional().size() <= index) {
            return;
        }
        boolean filter = name.equals("map");
        if (arguments.positional().get(index) instanceof Expression.Literal literal) {
            String used = String.valueOf(literal.value());
            Map<String, Signature> known = filter ? Signature.FILTERS : Signature.TESTS;
            if (!known.containsKey(used) && (filter || !Signature.OPERATORS.containsKey(used))) {
                throw new Fault((filter ? "filter " : "test ") + used + " is not implemented").at(line);
            }
        }
    }

    private Expression tested(Expression target, int line) {
        boolean negated = tokens.skipName("not");
        String name = tokens.name();
        Arguments arguments = Arguments.NONE;
        if (tokens.isOperator("(")) {
            arguments = arguments();
        } else if (tokens.beginsArgument()) {
            arguments = new Arguments(List.of(postfix(primary())), Map.of());
        }
        check(Signature.TESTS.get(name), arguments, "test " + name, line);
        return new Expression.Tested(target, new Use(name, arguments), negated);
    }
}
