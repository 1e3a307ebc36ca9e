package shim

import (
	"errors"
	"testing"
)

type row struct {
	Number    int32
	ErrorCode int16
	hidden    error
}

func TestTheFirstErrorOfAnAnswerIsFoundWhereverItStands(t *testing.T) {
	own := errors.New("the client's own")
	for _, each := range []struct {
		answer any
		want   error
	}{
		{nil, nil},
		{(*row)(nil), nil},
		{&row{Number: 27, hidden: own}, nil},
		{&struct{ Topics []struct{ Rows []row } }{[]struct{ Rows []row }{{[]row{{}, {ErrorCode: 27}, {ErrorCode: 22}}}}}, Code(27)},
		{map[string]map[int32]kafkaCode{"t": {0: 0, 1: 25}}, kafkaCode(25)},
		{map[string]map[int32]kafkaCode{"t": {0: 0}}, nil},
		{struct{ Rows []struct{ Error error } }{[]struct{ Error error }{{nil}, {own}}}, own},
		{[2]any{"text", own}, own},
		{kafkaCode(16), kafkaCode(16)},
	} {
		if got := ErrorIn(each.answer); got != each.want {
			t.Errorf("in %+v it is %v", each.answer, got)
		}
	}
}

func TestOfTwoAnswersTheFirstErrorCounts(t *testing.T) {
	if got := ErrorIn(nil, row{}, row{ErrorCode: 16}, Code(27)); got != Code(16) || ErrorIn() != nil {
		t.Error(got)
	}
}

func TestACodeBearsKafkasName(t *testing.T) {
	if name, _ := (Hello{}).nameOf(errors.Join(Code(27), errors.New("another"))); name != "REBALANCE_IN_PROGRESS" || Code(27).Error() != name {
		t.Error(name)
	}
}
