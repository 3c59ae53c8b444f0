#include "backends/llvm/rare_code.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "lib/math/trig.h"

namespace hlo {
namespace {

using Call = void(void* values, void* entry);

std::map<std::string, char*> Symbols() {
  std::map<std::string, char*> symbols;
  DefineRareSymbols(JitOptions(), [&symbols](std::string_view name, void* address) {
    symbols[std::string(name)] = static_cast<char*>(address);
  });
  return symbols;
}

// As compiled code does it.
Call* FunctionOf(char* entry) {
  Call* function;
  std::memcpy(&function, entry, sizeof(function));
  return function;
}

template <class T, class Function>
void CheckCalls(int log_lanes) {
  char* const entry =
      Symbols().at(RareSymbol(Function::kName, sizeof(T) == 8)) + log_lanes * kRareEntryBytes;
  Call* const at_first = FunctionOf(entry);
  const int lanes = 1 << log_lanes;
  T x = sizeof(T) == 8 ? T(0x1p28) : T(0x1p16);
  for (int i = 0; i < 2 * kRareCallsBeforeCompilation; ++i) {
    alignas(kRareAlignment) T values[1 << (kRareEntries - 1)];
    T angles[1 << (kRareEntries - 1)];
    for (int lane = 0; lane < lanes; ++lane) {
      angles[lane] = values[lane] = x;
      x = x < std::numeric_limits<T>::max() / 4 ? x * T(1.37) : T(3e9);
    }
    FunctionOf(entry)(values, entry);
    for (int lane = 0; lane < lanes; ++lane) {
      const T expected = Function()(angles[lane]);
      if (std::memcmp(&values[lane], &expected, sizeof(T)) == 0) continue;
      CAPTURE(angles[lane], values[lane], expected, i);
      FAIL_CHECK("other bits");
    }
  }
  CHECK(FunctionOf(entry) != at_first);  // compiled
}

TEST_CASE("a rare function gives the same bits before and after it is compiled", "[llvm][rare]") {
  CheckCalls<float, math::SinOfLarge<0>>(3);
  CheckCalls<float, math::SinOfLarge<1>>(2);
  CheckCalls<double, math::SinOfLarge<0>>(0);
  CheckCalls<double, math::SinOfLarge<1>>(4);
  CheckCalls<double, math::TanOfLarge>(1);
}

TEST_CASE("rare functions are compiled once for each processor", "[llvm][rare]") {
  CHECK(Symbols() == Symbols());
  JitOptions other;
  other.features = "+avx2";
  DefineRareSymbols(other, [here = Symbols()](std::string_view name, void* address) {
    CHECK(here.at(std::string(name)) != address);
  });
}

}  // namespace
}  // namespace hlo
