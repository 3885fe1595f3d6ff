// SPDX-License-Identifier: Apache-2.0
// Whose settings lie in a model's folder: a feature extractor's of sounds, or another processor's.
#include "base/file.h"
#include "base/text.h"
#include "preprocess/sound.h"

enum { SETTINGS_LIMIT = 1 << 20 };

// Older files do not name the class; it is that of the model's type.
static const char *class_of_type(const char *type)
{
	static const char *const waves[] = { "wav2vec2", "wav2vec2-conformer", "hubert", "unispeech", "unispeech-sat", "wavlm",
		"sew", "sew-d", "data2vec-audio", "mms" };

	for (size_t i = 0; i < sizeof waves / sizeof *waves; i++)
		if (text_is(type, waves[i]))
			return "Wav2Vec2FeatureExtractor";
	return NULL;
}

enum status sound_settings(json_t **out, struct arena *a, const char *folder, struct error *err)
{
	const char *path = arena_printf(a, "%s/preprocessor_config.json", folder),
		   *other = arena_printf(a, "%s/processor_config.json", folder),
		   *model = arena_printf(a, "%s/config.json", folder), *name;
	json_t *json = NULL, *config = NULL, *within;
	enum status s = STATUS_OK;

	*out = NULL;
	// In the order of transformers 5.
	if (file_exists(other) && !(s = json_file(other, SETTINGS_LIMIT, &json, err))) {
		within = json_incref(json_object_get(json, "feature_extractor"));
		json_decref(json);
		json = within;
	}
	if (!s && !json && file_exists(path))
		s = json_file(path, SETTINGS_LIMIT, &json, err);
	if (s || !json)
		return s;
	name = json_string_value(json_object_get(json, "feature_extractor_type"));
	if (!name && json_object_get(json, "sampling_rate") && file_exists(model)) {
		if ((s = json_file(model, SETTINGS_LIMIT, &config, err))) {
			json_decref(json);
			return s;
		}
		name = class_of_type(json_string_value(json_object_get(config, "model_type")));
		if (name)
			json_object_set_new(json, "feature_extractor_type", json_string(name));
		json_decref(config);
	}
	if (name && sound_class_known(name))
		*out = json;
	else
		json_decref(json);
	return STATUS_OK;
}
