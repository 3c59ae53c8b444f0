// Text of attribute values. Every overload appends; none prints the attribute's name.
#include "lib/ops/attr_print.h"

#include <fmt/format.h>

#include "lib/support/strings.h"
#include "lib/types/append.h"

namespace hlo {
namespace {

// "{a, b}" with the items printed by `append`.
template <class Range, class Fn>
void AppendBraced(std::string& out, const Range& items, std::string_view separator, Fn&& append) {
  out += '{';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    append(item);
  }
  out += '}';
}

void AppendSide(std::string& out, std::string_view name, const TensorSparsity& side) {
  fmt::format_to(std::back_inserter(out), "{}={{sparsity={}x{} dimension={} stride={} idx={}}}",
                 name, side.n, side.m, side.dimension, side.stride, side.index);
}

// Literals of custom calls carry the shape of every leaf but no shape in front of a tuple.
void AppendTypedLiteral(std::string& out, const Literal& literal) {
  if (!literal.shape().IsTuple()) {
    literal.shape().AppendTo(out);
    out += ' ';
    literal.AppendTo(out);
    return;
  }
  out += "( ";
  bool first = true;
  for (const Literal& element : literal.elements()) {
    if (!first) out += ", ";
    first = false;
    AppendTypedLiteral(out, element);
  }
  out += " )";
}

}  // namespace

void AppendValue(std::string& out, bool value) { out += value ? "true" : "false"; }
void AppendValue(std::string& out, int64_t value) { AppendInt(value, out); }
void AppendValue(std::string& out, int32_t value) { AppendInt(value, out); }
void AppendValue(std::string& out, float value) { AppendValue(out, static_cast<double>(value)); }
void AppendValue(std::string& out, double value) {
  fmt::format_to(std::back_inserter(out), "{:g}", value);
}

void AppendValue(std::string& out, const std::string& value) {
  out += '"';
  out += CEscape(value);
  out += '"';
}

void AppendValue(std::string& out, const DimVec& value) {
  out += '{';
  AppendInts(value, out);
  out += '}';
}

void AppendValue(std::string& out, const std::vector<DimVec>& value) {
  AppendBraced(out, value, ",", [&](const DimVec& list) { AppendValue(out, list); });
}

void AppendValue(std::string& out, BracedDim value) {
  out += '{';
  AppendInt(value.value, out);
  out += '}';
}

void AppendValue(std::string& out, const Window& value) {
  out += '{';
  if (!value.empty()) out += value.ToString();
  out += '}';
}

void AppendValue(std::string& out, const ConvDimNumbers& value) { out += value.ToString(); }
void AppendValue(std::string& out, const PaddingConfig& value) { out += value.ToString(); }

void AppendValue(std::string& out, const PrecisionConfig& value) {
  AppendBraced(out, value.values, ",", [&](Precision precision) { out += Text(precision); });
}

void AppendValue(std::string& out, const SliceRanges& value) {
  bool strided = false;
  for (const SliceRange& range : value) strided = strided || range.stride != 1;
  AppendBraced(out, value, ", ", [&](const SliceRange& range) {
    out += '[';
    AppendInt(range.start, out);
    out += ':';
    AppendInt(range.limit, out);
    if (strided) {
      out += ':';
      AppendInt(range.stride, out);
    }
    out += ']';
  });
}

void AppendValue(std::string& out, const OutputOperandAliases& value) {
  AppendBraced(out, value, ", ", [&](const OutputOperandAlias& alias) {
    out += ToString(alias.output);
    out += ": (";
    AppendInt(alias.operand, out);
    out += ", ";
    out += ToString(alias.operand_index);
    out += ')';
  });
}

void AppendValue(std::string& out, const DevicePairs& value) {
  AppendBraced(out, value, ",", [&](const std::pair<int64_t, int64_t>& pair) {
    out += '{';
    AppendInt(pair.first, out);
    out += ',';
    AppendInt(pair.second, out);
    out += '}';
  });
}

void AppendValue(std::string& out, const DomainConfig& value, const AttrPrintOptions& options) {
  out += "{kind=\"sharding\", entry=";
  out += value.entry.ToString(options.sharding_metadata);
  out += ", exit=";
  out += value.exit.ToString(options.sharding_metadata);
  out += '}';
}

void AppendValue(std::string& out, const SparsityConfig& value) {
  out += '{';
  if (value.lhs.has_value()) AppendSide(out, "lhs", *value.lhs);
  if (value.lhs.has_value() && value.rhs.has_value()) out += ' ';
  if (value.rhs.has_value()) AppendSide(out, "rhs", *value.rhs);
  out += '}';
}

void AppendValue(std::string& out, const ResultAccuracy& value) {
  if (value.has_tolerance) {
    fmt::format_to(std::back_inserter(out), "{{tolerance={{atol={:g},rtol={:g},ulps={}}}}}",
                   value.atol, value.rtol, value.ulps);
  } else {
    fmt::format_to(std::back_inserter(out), "{{mode={}}}", Text(value.mode));
  }
}

void AppendValue(std::string& out, const ReplicaGroups& value, const AttrPrintOptions& options) {
  value.AppendTo(out, /*as_lists=*/options.full_replica_groups);
}

void AppendValue(std::string& out, const std::vector<Shape>& value) {
  AppendBraced(out, value, ", ", [&](Shape shape) { shape.AppendTo(out); });
}

void AppendValue(std::string& out, const std::vector<bool>& value) {
  AppendBraced(out, value, ",", [&](bool item) { AppendValue(out, item); });
}

void AppendValue(std::string& out, Shape value) { value.AppendTo(out); }
void AppendValue(std::string& out, const Literal& value) { AppendTypedLiteral(out, value); }

}  // namespace hlo
