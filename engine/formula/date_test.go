package formula_test

import "testing"

// The item has the time 2020-01-02T03:04:05.006Z, a Thursday. The current time is 2020-02-29T12:30:45.678Z.

func TestDates(t *testing.T) {
	check(t, []example{
		{`now()`, `2020-02-29T12:30:45.678Z`},
		{`date('2020-01-02')`, `2020-01-02T00:00:00.000Z`}, {`date(0)`, `1970-01-01T00:00:00.000Z`}, {`date($at)`, `2020-01-02T03:04:05.006Z`},
		{`date('')`, `null`}, {`date($none)`, `null`}, {`date(yesterday)`, `null`}, {`date(1e300)`, `null`},
		{`date('31.12.2019 23:59', 'DD.MM.YYYY HH:mm')`, `2019-12-31T23:59:00.000Z`}, {`date('1.2.20', 'D.M.YY')`, `2020-02-01T00:00:00.000Z`},
		{`date('3:05 PM 01/02/2020', 'LT L', en)`, `2020-01-02T15:05:00.000Z`}, {`date('2 марта 2020', 'D MMMM YYYY')`, `2020-03-02T00:00:00.000Z`},
		{`date('2 Mar 2020', 'D MMM YYYY', en)`, `2020-03-02T00:00:00.000Z`}, {`date('12:00 am 2020-01-01', 'h:mm a YYYY-MM-DD', en)`, `2020-01-01T00:00:00.000Z`},
		{`date('2020-01-02 03:04:05.6+02:00', 'YYYY-MM-DD HH:mm:ss.SZ')`, `2020-01-02T01:04:05.600Z`}, {`date('1577934245', 'X')`, `2020-01-02T03:04:05.000Z`},
		{`date('30.02.2020', 'DD.MM.YYYY')`, `null`}, {`date('02.01.2020 x', 'DD.MM.YYYY')`, `null`}, {`date('01.2020', 'MM.YYYY')`, `2020-01-01T00:00:00.000Z`},
		{`date('x', 'YYYY')`, `null`}, {`date('2020', '[year]')`, `null`},
	})
}

func TestDateAdd(t *testing.T) {
	check(t, []example{
		{`dateAdd($at)`, `2020-01-02T03:04:05.006Z`}, {`dateAdd($at, 1)`, `2020-01-03T03:04:05.006Z`}, {`dateAdd($at, '-2', d)`, `2019-12-31T03:04:05.006Z`},
		{`dateAdd('2020-01-31', 1, M)`, `2020-02-29T00:00:00.000Z`}, {`dateAdd('2020-02-29', 1, y)`, `2021-02-28T00:00:00.000Z`}, {`dateAdd('2020-01-31', -1, quarters)`, `2019-10-31T00:00:00.000Z`},
		{`dateAdd($at, 1.5, h)`, `2020-01-02T04:34:05.006Z`}, {`dateAdd($at, 1, m)`, `2020-01-02T03:05:05.006Z`}, {`dateAdd($at, 1, w)`, `2020-01-09T03:04:05.006Z`},
		{`dateAdd($at, 10, ms)`, `2020-01-02T03:04:05.016Z`}, {`dateAdd($at, x, d)`, `2020-01-02T03:04:05.006Z`},
		{`dateAdd($none, 1)`, `null`}, {`dateAdd($at, 9000, y)`, `null`}, {`dateAdd($at, 1e30, s)`, `null`}, {`dateAdd($at, 1e30, y)`, `null`},
		{`dateAdd($at, 1, $name)`, `error: dateAdd: there is no unit of time "Größe", expected one of D, M, Q, d, date, day, days, h, hour, hours, m, millisecond, milliseconds, min, minute, minutes, month, months, ms, quarter and 10 more (M is month, m is minute)`},
	})
}

func TestDateDiff(t *testing.T) {
	check(t, []example{
		{`dateDiff(days, '2020-01-10', '2020-01-01')`, `9`}, {`dateDiff(d, '2020-01-01', '2020-01-02T12:00')`, `-1`}, {`dateDiff(h, now(), '2020-02-29')`, `12`},
		{`dateDiff(M, '2020-03-31', '2020-02-29')`, `1`}, {`dateDiff(months, '2020-02-29', '2020-01-31')`, `1`}, {`dateDiff(M, '2020-02-28', '2020-01-31')`, `0`},
		{`dateDiff(M, '2020-01-31', '2020-02-28')`, `0`}, {`dateDiff(years, '2020-02-28', '2016-02-29')`, `3`}, {`dateDiff(years, now(), '2000-02-29')`, `20`},
		{`dateDiff(days, '2020-03-01')`, `0`}, {`dateDiff(ms, $at, $at)`, `0`}, {`dateDiff(days, $none, $at)`, `null`}, {`dateDiff(days, x, $at)`, `null`},
	})
}

func TestDateFormat(t *testing.T) {
	check(t, []example{
		{`dateFormat($at)`, `"02.01.2020"`}, {`format($at, 'L LT')`, `"02.01.2020 3:04"`}, {`format($at, 'LTS', en)`, `"3:04:05 AM"`}, {`format($at, L, en)`, `"01/02/2020"`},
		{`format($at, LL)`, `"2 января 2020 г."`}, {`format($at, LLLL)`, `"четверг, 2 января 2020 г., 3:04"`}, {`format($at, LLLL, en)`, `"Thursday, January 2, 2020 3:04 AM"`},
		{`format($at, ll)`, `"2 янв. 2020 г."`}, {`format($at, 'MMMM YYYY')`, `"январь 2020"`}, {`format($at, 'MMM')`, `"янв."`}, {`format($at, 'MMMM', 'en-GB')`, `"January"`},
		{`format($at, 'YYYY-MM-DD[T]HH:mm:ss.SSSZ')`, `"2020-01-02T03:04:05.006+00:00"`}, {`format($at, 'YY Y M D d E e')`, `"20 2020 1 2 4 4 3"`},
		{`format($at, 'Do Mo', en)`, `"2nd 1st"`}, {`format($at, 'Do MMMM')`, `"2-го января"`}, {`format($at, 'DDDD DDD Q ww WW')`, `"002 2 1 01 01"`},
		{`format('2020-01-05', 'w', en)`, `"2"`}, {`format('2020-01-05', 'w GGGG')`, `"1 2020"`}, {`format('2021-01-01', 'W GGGG')`, `"53 2020"`},
		{`format($at, 'h a')`, `"3 ночи"`}, {`format(now(), 'hh A', en)`, `"12 PM"`}, {`format($at, 'k ddd dd')`, `"3 чт чт"`}, {`format($at, 'ddd dd', en)`, `"Thu Th"`},
		{`format($at, 'x X')`, `"1577934245006 1577934245"`}, {`format($none)`, `null`}, {`format(x)`, `null`}, {`format('2020-01-02', 'D.M')`, `"2.1"`}, {`format($at, 'yes!')`, `"y35!"`},
	})
}
