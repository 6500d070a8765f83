package io.multihead.internal.template;

import io.multihead.internal.template.Statement.Parameter;
import io.multihead.internal.template.Statement.Target;
import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs the statements of a template, once. */
final class Interpreter {
    /** The reason for the end of a body. */
    private enum Flow {
        NORMAL,
        CONTINUE,
        BREAK
    }

    private final Budget budget = new Budget();
    private final Evaluator evaluator = new Evaluator(budget);

    /** Returns the limits of the rendering. */
    Budget budget() {
        return budget;
    }

    PromptText run(List<Statement> statements, Scope scope) {
        PromptText.Builder to = new PromptText.Builder();
        run(statements, scope, to);
        return to.build();
    }

    private Flow run(List<Statement> statements, Scope scope, PromptText.Builder to) {
        for (Statement statement : statements) {
            Flow flow;
            try {
                budget.take(1);
                budget.requireLength(to.length());
                flow = run(statement, scope, to);
            } catch (Fault fault) {
                throw fault.at(statement.line());
            } catch (ArithmeticException overflow) {
                throw new Fault("a number above 2^63").at(statement.line());
            }
            if (flow != Flow.NORMAL) {
                return flow;
            }
        }
        return Flow.NORMAL;
    }

    private Flow run(Statement statement, Scope scope, PromptText.Builder to) {
        switch (statement) {
            case Statement.Text text -> to.append(budget.made(text.text()));
            case Statement.Print print ->
                to.append(budget.made(Values.text(evaluator.value(print.value(), scope), budget)));
            case Statement.If branches -> {
                return branch(branches, scope, to);
            }
            case Statement.For loop -> {
                return loop(loop, scope, to);
            }
            case Statement.Set set -> assign(set.targets(), evaluator.value(set.value(), scope), scope);
            case Statement.SetBlock set -> {
                Object text = captured(set.filters(), set.body(), scope);
                assign(List.of(set.target()), text, scope);
            }
            case Statement.Macro macro -> {
                Callable callable = (arguments, named) -> call(macro, arguments, named, scope);
                scope.set(macro.name(), callable);
            }
            case Statement.Scoped scoped ->
                to.append(budget.made(Values.text(captured(scoped.filters(), scoped.body(), scope), budget)));
            case Statement.Jump jump -> {
                return jump.ends() ? Flow.BREAK : Flow.CONTINUE;
            }
        }
        return Flow.NORMAL;
    }

    private Object captured(List<Expression.Use> filters, List<Statement> body, Scope scope) {
        Scope inner = new Scope(scope);
        Object text = run(body, inner);
        for (Expression.Use filter : filters) {
            text = evaluator.filter(text, filter, inner);
        }
        return text;
    }

    private Flow branch(Statement.If branches, Scope scope, PromptText.Builder to) {
        for (Statement.Branch branch : branches.branches()) {
            if (evaluator.isTrue(branch.test(), scope)) {
                return run(branch.body(), scope, to);
            }
        }
        return run(branches.otherwise(), scope, to);
    }

    private Flow loop(Statement.For loop, Scope scope, PromptText.Builder to) {
        List<Object> elements = selected(loop, Values.elements(evaluator.value(loop.elements(), scope)), scope);
        if (elements.isEmpty()) {
            return run(loop.otherwise(), new Scope(scope), to);
        }
        for (int i = 0; i < elements.size(); i++) {
            Scope inner = new Scope(scope);
            inner.set("loop", loopVariables(elements, i));
            assign(loop.targets(), elements.get(i), inner);
            if (run(loop.body(), inner, to) == Flow.BREAK) {
                break;
            }
        }
        return Flow.NORMAL;
    }

    private List<Object> selected(Statement.For loop, List<Object> elements, Scope scope) {
        budget.take(elements.size());
        if (loop.filter() == null) {
            return elements;
        }
        List<Object> selected = new ArrayList<>();
        for (Object element : elements) {
            Scope inner = new Scope(scope);
            assign(loop.targets(), element, inner);
            if (evaluator.isTrue(loop.filter(), inner)) {
                selected.add(element);
            }
        }
        return selected;
    }

    private static Namespace loopVariables(List<Object> elements, int index) {
        long size = elements.size();
        Namespace loop = new Namespace();
        Map<String, Object> values = loop.attributes();
        values.put("index", index + 1L);
        values.put("index0", (long) index);
        values.put("revindex", size - index);
        values.put("revindex0", size - index - 1);
        values.put("first", index == 0);
        values.put("last", index == size - 1);
        values.put("length", size);
        values.put(
                "previtem", index > 0 ? elements.get(index - 1) : new Undefined("loop.previtem of the first element"));
        values.put(
                "nextitem",
                index < size - 1 ? elements.get(index + 1) : new Undefined("loop.nextitem of the last element"));
        return loop;
    }

    private void assign(List<Target> targets, Object value, Scope scope) {
        if (targets.size() == 1) {
            assign(targets.getFirst(), value, scope);
            return;
        }
        List<Object> values = Values.elements(value);
        if (values.size() != targets.size()) {
            throw new Fault(values.size() + " values; expected " + targets.size());
        }
        for (int i = 0; i < targets.size(); i++) {
            assign(targets.get(i), values.get(i), scope);
        }
    }

    private static void assign(Target target, Object value, Scope scope) {
        if (target.attribute() == null) {
            scope.set(target.name(), value);
        } else if (scope.get(target.name()) instanceof Namespace namespace) {
            namespace.attributes().put(target.attribute(), value);
        } else {
            throw new Fault(target.name() + "." + target.attribute() + " is set; expected a namespace");
        }
    }

    private Object call(Statement.Macro macro, List<Object> positional, Map<String, Object> named, Scope outer) {
        budget.enter();
        Scope scope = new Scope(outer);
        List<String> names = macro.parameters().stream().map(Parameter::name).toList();
        Signature signature = new Signature("macro " + macro.name(), names, 0, false);
        List<Object> bound = signature.bind(positional, named);
        for (int i = 0; i < names.size(); i++) {
            Parameter parameter = macro.parameters().get(i);
            Object value = bound.get(i);
            if (value == Special.ABSENT) {
                value = parameter.otherwise() == null
                        ? new Undefined("parameter " + parameter.name())
                        : evaluator.value(parameter.otherwise(), scope);
            }
            scope.set(parameter.name(), value);
        }
        PromptText text = run(macro.body(), scope);
        budget.leave();
        return text;
    }
}
