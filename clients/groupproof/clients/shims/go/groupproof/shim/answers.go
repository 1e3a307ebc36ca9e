package shim

import "reflect"

// Code is an error by Kafka's number.
type Code int16

func (c Code) Error() string { return CodeName(int16(c)) }

// ErrorIn returns the first error in answers, such as that to a commit, wherever it stands: a number of Kafka's in a field ErrorCode, or
// an error of the client's own. Clients decode answers to structs, slices and maps; what is none of these, or nil, has none.
func ErrorIn(answers ...any) error { return errorIn(reflect.ValueOf(answers)) }

func errorIn(value reflect.Value) error {
	if !value.IsValid() || value.IsZero() {
		return nil // 0 is no error; some clients have it as one
	}
	if value.CanInterface() {
		if err, is := value.Interface().(error); is {
			return err
		}
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		return errorIn(value.Elem())
	case reflect.Slice, reflect.Array:
		return firstIn(value.Len(), func(place int) error { return errorIn(value.Index(place)) })
	case reflect.Map:
		keys := value.MapKeys()
		return firstIn(len(keys), func(place int) error { return errorIn(value.MapIndex(keys[place])) })
	case reflect.Struct:
		return firstIn(value.NumField(), func(place int) error { return errorInField(value.Type().Field(place), value.Field(place)) })
	}
	return nil
}

func errorInField(field reflect.StructField, value reflect.Value) error {
	switch {
	case !field.IsExported():
		return nil
	case field.Name == "ErrorCode" && value.CanInt() && value.Int() != 0:
		return Code(value.Int())
	}
	return errorIn(value)
}

func firstIn(count int, errorAt func(int) error) error {
	for place := range count {
		if err := errorAt(place); err != nil {
			return err
		}
	}
	return nil
}
