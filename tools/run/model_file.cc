#include "tools/run/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "lib/types/element_access.h"
#include "parser/parser.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

using Kind = JsonValue::Kind;

int64_t ScalarCount(Shape shape) {
  return shape.element_count() * (IsComplex(shape.element_type()) ? 2 : 1);
}

absl::StatusOr<Shape> ReadShape(const JsonValue& object) {
  ASSIGN_OR_RETURN(const JsonValue* text, object.Get("shape", Kind::kString));
  absl::StatusOr<Shape> shape = ParseShape(text->text());
  if (!shape.ok()) return Error(text->loc(), "{}", ToStd(shape.status().message()));
  if (!shape->IsArray()) return Error(text->loc(), "`{}` is no array", text->text());
  return *shape;
}

// One scalar of `type` into the vector that holds scalars of it.
absl::Status ReadScalar(const JsonValue& value, ElementType type, InputSpec& spec) {
  if (IsFloat(type)) {
    ASSIGN_OR_RETURN(const double real, value.AsDouble());
    spec.reals.push_back(real);
  } else {
    ASSIGN_OR_RETURN(const int64_t integer, value.AsInt());
    spec.ints.push_back(integer);
  }
  return absl::OkStatus();
}

absl::StatusOr<InputSpec> ReadSpec(const JsonValue& object, Shape shape) {
  InputSpec spec;
  ASSIGN_OR_RETURN(const JsonValue* kind, object.Get("kind", Kind::kString));
  const ElementType part = ComponentType(shape.element_type());
  if (kind->text() == "uniform") {
    spec.kind = InputSpec::Kind::kUniform;
    ASSIGN_OR_RETURN(spec.lo, object.GetDouble("lo"));
    ASSIGN_OR_RETURN(spec.hi, object.GetDouble("hi"));
  } else if (kind->text() == "randint") {
    spec.kind = InputSpec::Kind::kRandint;
    ASSIGN_OR_RETURN(spec.int_lo, object.GetInt("lo"));
    ASSIGN_OR_RETURN(spec.int_hi, object.GetInt("hi"));
  } else if (kind->text() == "const") {
    spec.kind = InputSpec::Kind::kConst;
    const JsonValue* value = object.Find("value");
    if (value == nullptr) return Error(object.loc(), "this object has no `value`");
    RETURN_IF_ERROR(ReadScalar(*value, part, spec));
  } else if (kind->text() == "iota") {
    spec.kind = InputSpec::Kind::kIota;
  } else if (kind->text() == "values") {
    spec.kind = InputSpec::Kind::kValues;
    ASSIGN_OR_RETURN(const JsonValue* values, object.Get("values", Kind::kArray));
    if (static_cast<int64_t>(values->items().size()) != ScalarCount(shape)) {
      return Error(values->loc(), "`{}` has {} scalars, got {}", shape, ScalarCount(shape),
                   values->items().size());
    }
    for (const JsonValue& value : values->items()) RETURN_IF_ERROR(ReadScalar(value, part, spec));
  } else {
    return Error(kind->loc(),
                 "unknown kind `{}` of input; there are uniform, randint, const, iota and values",
                 kind->text());
  }
  return spec;
}

absl::Status ReadTolerance(const JsonValue& object, Tolerance& tolerance) {
  if (object.Find("tolerance") == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue* value, object.Get("tolerance", Kind::kObject));
  ASSIGN_OR_RETURN(tolerance.abs, value->GetDouble("abs"));
  ASSIGN_OR_RETURN(tolerance.rel, value->GetDouble("rel"));
  return absl::OkStatus();
}

absl::Status ReadStatistics(const JsonValue& object, ModelOutput& output) {
  if (object.Find("statistics") == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue* value, object.Get("statistics", Kind::kObject));
  ModelStatistics& statistics = output.statistics.emplace();
  ASSIGN_OR_RETURN(statistics.nonfinite, value->GetInt("nonfinite"));
  ASSIGN_OR_RETURN(statistics.min, value->GetDouble("min"));
  ASSIGN_OR_RETURN(statistics.max, value->GetDouble("max"));
  ASSIGN_OR_RETURN(statistics.mean, value->GetDouble("mean"));
  ASSIGN_OR_RETURN(statistics.rms, value->GetDouble("rms"));
  return absl::OkStatus();
}

// `values`, or the values of `samples`, as a vector of the component type.
absl::Status ReadValues(const JsonValue& object, ModelOutput& output) {
  output.sampled = object.Find("values") == nullptr;
  ASSIGN_OR_RETURN(const JsonValue* list,
                   object.Get(output.sampled ? "samples" : "values", Kind::kArray));
  const ElementType part = ComponentType(output.shape.element_type());
  const int64_t scalars = ScalarCount(output.shape);
  const int64_t count = static_cast<int64_t>(list->items().size());
  if (!output.sampled && count != scalars) {
    return Error(list->loc(), "`{}` has {} scalars, got {}", output.shape, scalars, count);
  }
  output.values = Literal(Shape::Array(part, {count}));
  InputSpec spec;
  for (const JsonValue& item : list->items()) {
    const JsonValue* value = &item;
    if (output.sampled) {
      if (!item.IsArray() || item.items().size() != 2)
        return Error(item.loc(), "expected a pair of index and value");
      ASSIGN_OR_RETURN(const int64_t place, item.items()[0].AsInt());
      if (place < 0 || place >= scalars) {
        return Error(item.loc(), "index {} lies outside of `{}`", place, output.shape);
      }
      output.places.push_back(place);
      value = &item.items()[1];
    }
    RETURN_IF_ERROR(ReadScalar(*value, part, spec));
  }
  if (count == 0) return absl::OkStatus();
  if (IsFloat(part)) {
    // What is not f64 was written as the shortest decimal of an f32.
    if (part != ElementType::kF64) {
      for (double& real : spec.reals) real = static_cast<float>(real);
    }
    WriteDoubles(part, spec.reals.data(), count, output.values.mutable_data());
  } else {
    WriteInts(part, spec.ints.data(), count, IsUnsigned(part), output.values.mutable_data());
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelOutput> ReadOutput(const JsonValue& object) {
  ModelOutput output;
  ASSIGN_OR_RETURN(output.shape, ReadShape(object));
  RETURN_IF_ERROR(ReadTolerance(object, output.tolerance));
  RETURN_IF_ERROR(ReadValues(object, output));
  RETURN_IF_ERROR(ReadStatistics(object, output));
  return output;
}

absl::StatusOr<ModelFile> ReadModel(const JsonValue& root, const std::string& path) {
  if (!root.IsObject()) return Error(root.loc(), "expected an object");
  ModelFile model;
  model.path = path;
  ASSIGN_OR_RETURN(const int64_t schema, root.GetInt("schema"));
  if (schema != 1)
    return Error(root.Find("schema")->loc(), "schema {} is not known; this program reads schema 1",
                 schema);
  ASSIGN_OR_RETURN(const std::string_view name, root.GetString("name"));
  model.name = name;
  ASSIGN_OR_RETURN(const std::string_view hlo, root.GetString("hlo"));
  const size_t slash = path.rfind('/');
  model.hlo = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + std::string(hlo);
  ASSIGN_OR_RETURN(model.seed, root.GetUnsigned("seed"));
  ASSIGN_OR_RETURN(const JsonValue* inputs, root.Get("inputs", Kind::kArray));
  for (const JsonValue& object : inputs->items()) {
    if (!object.IsObject()) return Error(object.loc(), "expected an object");
    ModelInput& input = model.inputs.emplace_back();
    if (const JsonValue* label = object.Find("name")) input.name = label->text();
    ASSIGN_OR_RETURN(input.shape, ReadShape(object));
    ASSIGN_OR_RETURN(input.spec, ReadSpec(object, input.shape));
  }
  if (root.Find("outputs") == nullptr) return model;
  ASSIGN_OR_RETURN(const JsonValue* outputs, root.Get("outputs", Kind::kArray));
  for (const JsonValue& object : outputs->items()) {
    if (!object.IsObject()) return Error(object.loc(), "expected an object");
    ASSIGN_OR_RETURN(model.outputs.emplace_back(), ReadOutput(object));
  }
  return model;
}

// The array as a vector of its scalars; data are shared.
Literal AsScalars(const Literal& array) {
  const ElementType part = ComponentType(array.element_type());
  const int64_t count = ScalarCount(array.shape());
  const Shape flat = Shape::Array(part, {count});
  if (!IsComplex(array.element_type())) return array.Reshaped(flat);
  Literal result(flat);
  std::copy_n(array.data(), array.byte_size(), result.mutable_data());
  return result;
}

std::string CompareStatistics(const ModelStatistics& actual, const ModelStatistics& expected,
                              const Tolerance& tolerance) {
  if (actual.nonfinite != expected.nonfinite) {
    return fmt::format("{} values are not finite, expected {}", actual.nonfinite,
                       expected.nonfinite);
  }
  const double magnitude = std::max(std::abs(expected.min), std::abs(expected.max));
  const double allowed = tolerance.abs + tolerance.rel * magnitude;
  const auto check = [&](std::string_view name, double got, double want) -> std::string {
    // The last term covers the roundings of the sums themselves.
    if (got == want || std::abs(got - want) <= allowed + 1e-12 * magnitude) return "";
    return fmt::format("{} of all values is {}, expected {} (tolerance {:.3g})", name, got, want,
                       allowed);
  };
  for (const std::string& message :
       {check("min", actual.min, expected.min), check("max", actual.max, expected.max),
        check("mean", actual.mean, expected.mean), check("rms", actual.rms, expected.rms)}) {
    if (!message.empty()) return message;
  }
  return "";
}

}  // namespace

absl::StatusOr<ModelFile> ReadModelFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  const auto source = std::make_shared<const Source>(path, std::move(text));
  absl::StatusOr<JsonDocument> document = ParseJson(source);
  if (!document.ok()) return WithPlacesInText(document.status(), *source);
  absl::StatusOr<ModelFile> model = ReadModel(document->root, path);
  if (!model.ok()) return WithPlacesInText(model.status(), *source);
  return model;
}

ModelStatistics StatisticsOf(const Literal& array) {
  const Literal scalars = AsScalars(array);
  ModelStatistics result{0, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(), 0, 0};
  constexpr int64_t kBlock = 1024;
  double block[kBlock];
  double sum = 0, squares = 0;
  int64_t finite = 0;
  for (int64_t at = 0; at < scalars.element_count(); at += kBlock) {
    const int64_t n = std::min(kBlock, scalars.element_count() - at);
    const int size = ByteSize(scalars.element_type());
    ReadDoubles(scalars.element_type(), scalars.data() + at * size, n, block);
    double block_sum = 0, block_squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(block[i])) {
        ++result.nonfinite;
        continue;
      }
      ++finite;
      result.min = std::min(result.min, block[i]);
      result.max = std::max(result.max, block[i]);
      block_sum += block[i];
      block_squares += block[i] * block[i];
    }
    sum += block_sum;
    squares += block_squares;
  }
  if (finite == 0) return {result.nonfinite, 0, 0, 0, 0};
  result.mean = sum / static_cast<double>(finite);
  result.rms = std::sqrt(squares / static_cast<double>(finite));
  return result;
}

CompareReport CompareWithModel(const Literal& actual, const ModelOutput& expected,
                               const Tolerance& extra) {
  CompareReport report;
  if (!Compatible(actual.shape(), expected.shape)) {
    report.shape_error =
        fmt::format("actual shape is `{}`, expected `{}`", actual.shape(), expected.shape);
    return report;
  }
  const Tolerance tolerance{std::max(expected.tolerance.abs, extra.abs),
                            std::max(expected.tolerance.rel, extra.rel), extra.ulps};
  Literal scalars = AsScalars(actual);
  if (expected.sampled) {
    Literal samples(expected.values.shape());
    const int size = ByteSize(samples.element_type());
    for (size_t i = 0; i < expected.places.size(); ++i) {
      std::copy_n(scalars.data() + expected.places[i] * size, size,
                  samples.mutable_data() + static_cast<int64_t>(i) * size);
    }
    scalars = std::move(samples);
  }
  report = Compare(scalars, expected.values, tolerance);
  if (expected.sampled) report.of = actual.element_count();
  // Back to places in the array.
  const int parts = IsComplex(actual.element_type()) ? 2 : 1;
  const auto place = [&](Mismatch& mismatch) {
    if (expected.sampled) mismatch.linear = expected.places[static_cast<size_t>(mismatch.linear)];
    mismatch.index = MultiIndex(mismatch.linear / parts, actual.shape().dims());
  };
  if (report.mismatched > 0) place(report.first);
  for (Mismatch& mismatch : report.worst) place(mismatch);
  if (report.ok() && expected.statistics) {
    report.shape_error = CompareStatistics(StatisticsOf(actual), *expected.statistics, tolerance);
  }
  return report;
}

}  // namespace hlo
