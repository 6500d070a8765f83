package io.multihead.faults;

import io.multihead.tensor.Tensor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A method with arguments that it accepts. */
record ValidCall(Method target, @Nullable Object receiver, Object[] arguments) {
    /** Primitive types and the wrapper types that reflection uses. */
    private static final Map<Class<?>, Class<?>> WRAPPERS = Map.of(
            int.class,
            Integer.class,
            long.class,
            Long.class,
            double.class,
            Double.class,
            float.class,
            Float.class,
            boolean.class,
            Boolean.class);

    /** Returns a call of the public static method with this name and these arguments. */
    static ValidCall of(Class<?> type, String name, Object... arguments) {
        return on(type, null, name, arguments);
    }

    /** Returns a call of a method of an object. */
    static ValidCall on(Object receiver, String name, Object... arguments) {
        return on(receiver.getClass(), receiver, name, arguments);
    }

    private static ValidCall on(Class<?> type, @Nullable Object receiver, String name, Object... arguments) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && !method.isBridge() && takes(method, arguments)) {
                return new ValidCall(method, receiver, arguments);
            }
        }
        throw new IllegalArgumentException("name: " + type + "." + name + "; expected a method for these arguments");
    }

    private static boolean takes(Executable method, Object... arguments) {
        Class<?>[] types = method.getParameterTypes();
        boolean takes = types.length == arguments.length;
        for (int i = 0; takes && i < types.length; i++) {
            Class<?> type = WRAPPERS.getOrDefault(types[i], types[i]);
            takes = arguments[i] == null ? !types[i].isPrimitive() : type.isInstance(arguments[i]);
        }
        return takes;
    }

    /** Makes the call with one argument replaced. */
    void invoke(int replaced, @Nullable Object value) throws InvocationTargetException {
        Object[] changed = arguments.clone();
        if (replaced >= 0) {
            changed[replaced] = value;
        }
        target.trySetAccessible(); // a public method may be inherited from a class that is not public
        try {
            target.invoke(receiver, changed);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(target.toString(), impossible);
        }
    }

    boolean isNullable(int parameter) {
        return target.getAnnotatedParameterTypes()[parameter].isAnnotationPresent(Nullable.class);
    }

    /** Returns the tensors among the arguments, including tensors in records. */
    List<Tensor> tensors() {
        List<Tensor> tensors = new ArrayList<>();
        Arrays.stream(arguments).forEach(argument -> collect(argument, tensors));
        return tensors;
    }

    private static void collect(@Nullable Object value, List<Tensor> tensors) {
        if (value instanceof Tensor tensor) {
            tensors.add(tensor);
        } else if (value instanceof Record whole) {
            try {
                for (var component : whole.getClass().getRecordComponents()) {
                    collect(component.getAccessor().invoke(whole), tensors);
                }
            } catch (ReflectiveOperationException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }

    @Override
    public String toString() {
        return target.getDeclaringClass().getSimpleName() + "." + target.getName()
                + Arrays.stream(target.getParameterTypes())
                        .map(Class::getSimpleName)
                        .toList();
    }
}
