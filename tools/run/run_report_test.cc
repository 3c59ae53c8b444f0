#include "tools/run/run_report.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

RunTimes Times(double median, double deviation) {
  RunTimes times;
  times.median = median;
  times.deviation = deviation;
  times.iterations = 100;  // the median is known to a tenth of the deviation
  return times;
}

std::string VerdictOn(RunTimes before, RunTimes now) {
  Baseline baseline;
  baseline.run = before;
  RunReport report;
  report.run = now;
  const std::string text = CompareWith(baseline, report).text;
  const size_t from = text.rfind('(') + 1;
  return text.substr(from, text.rfind(')') - from);
}

TEST_CASE("A time is another than the baseline's when the spread of both does not explain it") {
  CHECK(VerdictOn(Times(1, 0.1), Times(1.1, 0.1)) == "slower");
  CHECK(VerdictOn(Times(1.1, 0.1), Times(1, 0.1)) == "faster");
  CHECK(VerdictOn(Times(1, 0.1), Times(1.02, 0.1)) == "within noise");
  CHECK(VerdictOn(Times(1, 0), Times(1.1, 0.5)) == "within noise");
  CHECK(VerdictOn(Times(1, 0), Times(1.1, 0.3)) == "slower");
  CHECK(VerdictOn(Times(1, 0.5), Times(1.1, 0)) == "within noise");
}

}  // namespace
}  // namespace hlo
