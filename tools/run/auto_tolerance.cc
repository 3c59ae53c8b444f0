#include "tools/run/auto_tolerance.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/analysis/cost.h"
#include "lib/analysis/trip_count.h"
#include "lib/types/element_type.h"
#include "lib/types/float_types.h"
#include "lib/types/shape_util.h"
#include "passes/buffers/buffers_to_arrays.h"

namespace hlo {
namespace {

constexpr double kPerTerm = 1.5;
constexpr double kPerTranscendental = 4;
constexpr double kMostError = 0.5;

// Half the distance of neighbours around 1; 0 of what is no float.
double Roundoff(ElementType type) {
  double roundoff = 0;
  WithNativeType(ComponentType(type), [&]<class T>() {
    if constexpr (requires(T value) { value.bits; }) {
      roundoff = std::ldexp(1.0, -T::kMantissaBits - 1);
    } else if constexpr (std::is_floating_point_v<T>) {
      roundoff = std::ldexp(1.0, -std::numeric_limits<T>::digits);
    }
  });
  return roundoff;
}

// The roundoff of the widest array in a shape, which may be a tuple.
double RoundoffOf(Shape shape) {
  double most = 0;
  ForEachLeaf(shape, [&most](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) most = std::max(most, Roundoff(leaf.element_type()));
  });
  return most;
}

int64_t ElementsOf(Shape shape) {
  int64_t count = 0;
  ForEachLeaf(shape, [&count](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) count += leaf.element_count();
  });
  return std::max<int64_t>(count, 1);
}

// What an instruction that calls nothing adds.
double OwnError(const Instruction& x) {
  const double roundoff = RoundoffOf(x.shape());
  if (roundoff == 0) return 0;
  const Cost cost = CostOf(x);
  const auto elements = static_cast<double>(ElementsOf(x.shape()));
  const double operations = cost.flops / elements;
  const double transcendentals = cost.transcendentals / elements;
  if (operations == 0 && transcendentals == 0) {
    // A conversion costs nothing and rounds.
    return x.opcode() == Opcode::kConvert ? roundoff : 0;
  }
  const double carried = std::min(roundoff, Roundoff(ElementType::kF32));
  return roundoff + kPerTerm * std::max(operations - 1, 0.0) * carried +
         kPerTranscendental * transcendentals * roundoff;
}

class ErrorWalk {
 public:
  // Of all instructions of a computation whose parameters have these errors.
  double Root(const Computation& computation, const std::vector<double>& parameters) {
    return All(computation, parameters).at(computation.root());
  }
  std::map<const Instruction*, double> All(const Computation& computation,
                                           const std::vector<double>& parameters) {
    std::map<const Instruction*, double> errors;
    for (const Instruction* x : computation.PostOrder()) {
      std::vector<double> operands;
      for (int i = 0; i < x->operand_count(); ++i) operands.push_back(errors.at(x->operand(i)));
      const double most =
          operands.empty() ? 0 : *std::max_element(operands.begin(), operands.end());
      errors[x] = std::min(Of(*x, operands, most, parameters), kMostError);
    }
    return errors;
  }

 private:
  double Of(const Instruction& x, const std::vector<double>& operands, double most,
            const std::vector<double>& parameters) {
    if (x.opcode() == Opcode::kParameter) {
      const auto number = static_cast<size_t>(x.parameter_number());
      return number < parameters.size() ? parameters[number] : 0;
    }
    if (x.opcode() == Opcode::kFusion || x.opcode() == Opcode::kCall)
      return Root(*x.call(0), operands);
    if (x.opcode() == Opcode::kWhile)
      return most + static_cast<double>(TripCount(x).value_or(1)) * Root(*x.call(1), {0});
    if (x.opcode() != Opcode::kConditional) return most + OwnError(x);
    double worst = most;
    for (const Computation* branch : x.calls()) worst = std::max(worst, Root(*branch, {most}));
    return worst;
  }
};

}  // namespace

std::vector<double> RelativeErrors(const Module& module) {
  const Instruction& root = *module.entry()->root();
  const std::map<const Instruction*, double> errors = ErrorWalk().All(*module.entry(), {});
  std::vector<double> result;
  const auto add = [&](const Instruction& from, Shape shape) {
    ForEachLeaf(WithoutBuffers(shape), [&](Shape leaf, const ShapeIndex&) {
      if (!leaf.IsArray()) return;
      const double roundoff = Roundoff(leaf.element_type());
      // Nothing is computed better than this by all.
      result.push_back(
          roundoff == 0 ? 0 : std::min(std::max(errors.at(&from), 4 * roundoff), kMostError));
    });
  };
  if (root.opcode() != Opcode::kTuple) {
    add(root, root.shape());
    return result;
  }
  for (int i = 0; i < root.operand_count(); ++i) add(*root.operand(i), root.operand(i)->shape());
  return result;
}

}  // namespace hlo
