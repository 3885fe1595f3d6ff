// SPDX-License-Identifier: Apache-2.0
// What checkpoints call things; one file a family under dialect/. Left the canonical stem that families and blocks ask for,
// right the stem in the file: @ is the base-model prefix ("bert.", which some files have and some have not), # the number of
// the layer (two #: stage and layer), $ a name that the family gives, * the number of an expert or head within the layer.
// ".weight" and ".bias" are appended by block/weight.c, which knows the older ".gamma" and ".beta" too.
#ifndef ASSAY_ARCH_DIALECT_H
#define ASSAY_ARCH_DIALECT_H

#include "arch/spec.h"

#define NO_KEYS ((const struct key_name[]){ { NULL, NULL } })
#define KEYS(...) ((const struct key_name[]){ __VA_ARGS__, { NULL, NULL } })
#define NO_WEIGHTS ((const struct weight_name[]){ { NULL, NULL } })
#define WEIGHTS(...) ((const struct weight_name[]){ __VA_ARGS__, { NULL, NULL } })
#define IGNORED(...) ((const char *const[]){ __VA_ARGS__, NULL })

// encoder.c
extern const struct dialect albert_names, bert_names, distilbert_names, electra_names, mpnet_names, roberta_names;
extern const struct dialect convbert_names, nezha_names, fnet_names, markuplm_names, mobilebert_names, visual_bert_names;
extern const struct dialect bert_generation_names, big_bird_names, data2vec_text_names, dpr_names, ernie_names, esm_names,
	flava_text_names, ibert_names, layoutlm_names, megatron_bert_names, rembert_names, roberta_prelayernorm_names,
	roc_bert_names, roformer_names, splinter_names, squeezebert_names, tapas_names, xlm_roberta_xl_names, xmod_names,
	ernie_m_names, nystromformer_names, xlm_names, realm_names, bros_names, lilt_names, luke_names, layoutlmv2_names,
	layoutlmv3_names, longformer_names, xlnet_names, yoso_names, funnel_names, trajectory_names, graphormer_names,
	perceiver_text_names, reformer_names, canine_names, transfo_xl_names, cpmant_names, retribert_names, lxmert_names,
	mra_names;
// deberta.c
extern const struct dialect deberta_names, deberta_v2_names;
// rotary.c
extern const struct dialect esmc_names, eurobert_names, gte_names, jina_v3_names, modernbert_names, nomic_bert_names,
	ultrabert_names;
// vit.c
extern const struct dialect deit_names, dinov2_names, dinov2_with_registers_names, ijepa_names, pixio_names, vit_names,
	vit_msn_names, vitpose_backbone_names, yolos_names, beit_names, data2vec_vision_names, videomae_names, vivit_names,
	dinov3_vit_names, internvl_vision_names, qianfan_ocr_vision_names, tipsv2_vision_names, timesformer_names,
	sam_vision_names, vit_hybrid_names, vit_mae_names, slanext_names, tvp_names, vitdet_names, radio_names, vitmatte_names,
	vitpose_names, eomt_dinov3_names, tvlt_names, flava_names, flava_image_names, flava_fusion_names, videomt_names,
	eomt_names, lw_detr_vit_names, rf_detr_dinov2_names, vjepa2_names, seggpt_names, mgp_str_names;
// speech.c
extern const struct dialect wav2vec2_names, hubert_names, unispeech_names, unispeech_sat_names, data2vec_audio_names, wavlm_names,
	sew_names, sew_d_names, wav2vec2_conformer_names, wav2vec2_bert_names, spectrogram_names, parakeet_names, lasr_names,
	ctc_names, fastspeech_names, hifigan_names, univnet_names, vits_names, transducer_names, encodec_names, mimi_names,
	dac_names, stacked_sound_names, granite_speech5_encoder_names, granite_speech5_ctc_names, granite_speech_encoder_names,
	jukebox_names, clvp_names, bark_names, seamless_speech_names, mctct_names, pe_audio_names;
// series.c
extern const struct dialect decision_names, patchtst_names, patchtsmixer_names, timesfm_names, timesfm2_5_names;
// swin.c
extern const struct dialect swin_names, swinv2_names, donut_swin_names, maskformer_swin_names, hiera_names, swin2sr_names,
	nat_names, dinat_names;
// clap.c
extern const struct dialect clap_names, clap_audio_names, clap_text_names;
// diffusion.c
extern const struct dialect autoencoder_dc_names, autoencoder_kl_names, autoencoder_tiny_names, controlnet_names, unet_names,
	unet_plain_names;
// mmdit.c
extern const struct dialect chroma_names, flux_names, lumina_names, qwen_image_names, sd3_names;
// dit.c
extern const struct dialect aura_flow_names, cog_video_names, dit_names, ltx_video_names, pixart_names, sana_names, wan_names;
// detect.c
extern const struct dialect conditional_detr_names, d_fine_names, dab_detr_names, deformable_detr_names, deimv2_names, deta_names,
	detr_names, grounding_names, mask2former_names, mm_grounding_names, rf_detr_names, rt_detr_names, rt_detr_v2_names,
	superpoint_names, superglue_names, omdet_names, lightglue_names, efficient_loftr_names, maskformer_names, oneformer_names;
// convnet.c
extern const struct dialect regnet_names, resnet_names, rt_detr_resnet_names, resnet_timm_names, timm_wrapper_names,
	convnext_names, convnextv2_names, dinov3_convnext_names, mobilenet_v1_names, mobilenet_v2_names, poolformer_names,
	segformer_names, efficientformer_names;
extern const struct dialect bit_names, hgnet_names, pvt_names, pvt_v2_names, textnet_names, upernet_names, van_names, glpn_names,
	cvt_names, align_vision_names, efficientnet_names, focalnet_names, levit_names, mobilevit_names, mobilevitv2_names,
	swiftformer_names;
// depth.c
extern const struct dialect depth_anything_names, dpt_names, depth_pro_names, zoedepth_names, prompt_depth_anything_names,
	chmv2_names, tipsv2_dpt_names;
// decoder.c
extern const struct dialect apertus_names, gemma2_names, gemma3n_names, gemma4_names, gemma4_unified_names, glm_names,
	exaone_names, hunyuan_names, hyperclovax_names, llama_names, nanochat_names, nemotron_names, olmo2_names, phi3_names,
	phi_names, qwen3_vl_text_names, stablelm_names, starcoder2_names, open_llama_names, doge_names, hrm_names, molmo2_names,
	chameleon_names, kosmos_text_names, kosmos_2_5_text_names, mllama_text_names, muse_glimmer_names, muse_spark_names,
	embedding_gemma2_names, t5gemma_half_names, imagegpt_names, ctrl_names, moshi_names, csm_names, phi4_multimodal_names;
extern const struct dialect biogpt_names, bloom_names, codegen_names, falcon_names, gpt2_names, gpt_neo_names, gpt_neox_names,
	gptj_names, mpt_names, openai_gpt_names, opt_names, persimmon_names, xglm_names;
// moe.c
extern const struct dialect jetmoe_names, longcat_flash_names, deepseek_v32_names, diffllama_names, modernbert_decoder_names,
	dbrx_names, gptsan_names, llama4_names, mimo_v2_names;
extern const struct dialect afmoe_names, beam_names, flint_names, aria_names, axk1_names, axk2_names, mistral_large4_names,
	dots3_note_names, hy_v4_names, cohere2_moe_names, cosmos_names, gpt_neox_japanese_names, glm4v_moe_names, kolibri1_names,
	laguna_names, mistral4_names, qwen3_vl_moe_names, deepseek_v2_names, deepseek_v3_names, dots1_names, ernie4_5_moe_names,
	exaone_moe_names, flex_olmo_names, gpt_oss_names, granitemoe_names, granitemoe_swa_names, hunyuan_moe_names, hy_v3_names,
	minicpm3_names, minimax_names, minimax_m2_names, minimax_m3_names, mixtral_names, qwen_moe_names, deepseek_v4_names;

// t5.c
extern const struct dialect longt5_names, switch_names, t5_names, udop_names, pix2struct_names;
// seq2seq.c
extern const struct dialect bart_names, bigbird_pegasus_names, fsmt_names, m2m_names, moonshine_names, speech_to_text_names,
	trocr_names, led_names, nllb_moe_names, pegasus_x_names, whisper_encoder_names, whisper_names, glmasr_encoder_names,
	canary_names, cohere_asr_names, rag_names, two_models_names, voxtral_realtime_encoder_names, speecht5_names,
	prophetnet_names, speech_to_text_2_names, forecast_names, autoformer_names, musicgen_names, dia_names, seamless_names;

// hybrid.c
extern const struct dialect bamba_names, falcon_h1_names, granitemoehybrid_names, jamba_names, lfm2_moe_names, lfm2_names,
	qwen3_next_names, zamba2_names, zamba_names, kimi_linear_names, lfm3_names, recurrent_gemma_names, bailing_hybrid_names,
	nemotron_h_names, inkling_names, inkling2_names, zaya_names, olmo_hybrid_names, qwen3_5_moe_names, qwen3_5_names,
	qwen4_exp_names, glm5_next_names;

// mamba.c
extern const struct dialect mamba_names, mamba2_names, mega_names, rwkv_names, xlstm_names;

// segment.c
extern const struct dialect sam_names, sam_hq_names, sam2_names, sam2_hiera_names, sam2_vision_names, sam3_names,
	sam3_vision_names, sam3_vit_names;

// clip.c
extern const struct dialect aimv2_text_names, aimv2_vision_names, altclip_text_names, altclip_vision_names,
	chinese_clip_text_names, clip_text_names, clip_vision_names, dual_names, idefics_vision_names, mlcd_vision_names,
	siglip_text_names, siglip_vision_names, bridgetower_names, bridgetower_vision_names, granite_docling_vision_names,
	janus_vision_names, kosmos_vision_names, blip_vision_names, tipsv2_text_names, ovis2_vision_names, xclip_names,
	xclip_vision_names, owl_vision_names, owlvit_names, owlv2_names, groupvit_names, groupvit_vision_names, clipseg_names,
	vilt_names;

// vlm.c
extern const struct dialect aria_vlm_names, aya_vision_names, blip_2_names, blip_names, blip_text_names, cosmos3_edge_names,
	cosmos3_edge_vision_names, deepseek_vl_names, fuyu_names, gemma3_names, gemma4_vision_names, gemma4_vlm_names, git_names,
	glm4v_vision_names, glm_image_vision_names, glm_ocr_vision_names, got_ocr2_names, grid_names, hyperclovax_vision_names,
	idefics_names, idefics2_names, idefics3_names, instruct_qformer_names, instruct_video_names, internvl_names, janus_names,
	kosmos_2_5_names, kosmos_names, lfm2_vl_names, lighton_ocr_names, llama4_vision_names, llama4_vlm_names, llava_names,
	mistral3_names, minimax_m3_vl_names, minimax_m3_vision_names, mllama_names, mllama_vision_names, modernvbert_names,
	omni_names, ovis2_names, paddleocr_vision_names, paddleocr_vl_names, paligemma_names, pixtral_names, qformer_names,
	qianfan_ocr_names, qwen2_5_omni_vision_names, qwen2_5_vl_vision_names, qwen2_vl_vision_names, qwen3_omni_vision_names,
	qwen3_vl_vision_names, resampler_names, retrieval_names, ultravbert_names, video_llama_3_names, qwen2_audio_names,
	unheard_names, voxtral_names, granite_speech_names, kimi_k25_names, kimi_k25_vision_names, lfm3_vl_names,
	lfm3_vl_vision_names, hunyuan_vl_vision_names, video_llava_names, florence_names, davit_names, evolla_names;

#endif
